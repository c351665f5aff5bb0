"""Rejections by NodeResourcesFit in words: what the pod requests, what is free, and the smallest changes."""

from __future__ import annotations

from typing import NamedTuple

from stowplan import framework as fwk
from stowplan.api import amounts
from stowplan.api.quantity import milli_value, value
from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable


class FitCheck(NamedTuple):
    """One resource that a pod requests, with its columns."""

    resource: str
    amount: int
    allocatable: Column
    requested: Column
    delegable: bool
    """Whether the resource is extended: a node without it may have devices for it, which DynamicResources checks."""


def explain_shortages(
    checks: tuple[FitCheck, ...], nodes: NodeTable, pod: fwk.Pod, node: fwk.NodeInfo
) -> list[fwk.Refusal]:
    """A refusal for each resource of which the node has too little."""
    found = []
    pods, allowed = nodes.pod_count.values[node.slot], nodes.allowed_pods.values[node.slot]
    if pods >= allowed:
        found.append(
            fwk.Refusal(
                id="pods.too-many",
                reasons=("Too many pods",),
                text=f"holds {pods:,} of {allowed:,} pods",
                wanted="1 pod",
                there=f"{pods:,} of {allowed:,} pods",
                rule="room for one more pod",
                facts={"resource": "pods", "wanted": 1, "free": allowed - pods, "allocatable": allowed},
            )
        )
    for check in checks:
        allocatable, requested = check.allocatable.values[node.slot], check.requested.values[node.slot]
        if check.amount > allocatable - requested:
            found.append(_shortage(check, allocatable, allocatable - requested, pod, node))
    return found


def explain_amounts(checks: tuple[FitCheck, ...], node: fwk.NodeInfo) -> fwk.Requirement | None:
    """Requested and free amounts of a node."""
    if not checks:
        return None
    wanted = ", ".join(amounts.in_words(check.resource, check.amount) for check in checks)
    there = []
    for check in checks:
        allocatable = check.allocatable.values[node.slot]
        free = allocatable - check.requested.values[node.slot]
        figures = amounts.compared(check.resource, free, allocatable)
        there.append(f"{figures[0]} of {figures[1]}")
    return fwk.Requirement(wanted, ", ".join(there) + " free")


def _shortage(check: FitCheck, allocatable: int, free: int, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Refusal:
    resource, amount = check.resource, check.amount
    facts = {"resource": resource, "wanted": amount, "free": free, "allocatable": allocatable, "pods": len(node.pods)}
    name = "CPU" if resource == "cpu" else "" if resource == "memory" else f" {resource}"
    rule = f"with {amounts.in_words(resource, amount)} free"
    wanted = amounts.in_words(resource, amount)
    if amount > allocatable:
        want, there = amounts.compared(resource, amount, allocatable)
        return fwk.Refusal(
            id="resources.too-small",
            reasons=(f"Insufficient {resource}",),
            text=f"asks for {want} {name}".rstrip() + f"; the node has {there} in all",
            wanted=wanted,
            there=f"{there} in all",
            rule=rule,
            lasting=True,
            facts=facts,
            changes=() if free <= 0 else (_lower(check, free, pod),),
        )
    want, there, whole = amounts.compared(resource, amount, free, allocatable)
    used = amounts.bare(resource, allocatable - free)
    return fwk.Refusal(
        id="resources.insufficient",
        reasons=(f"Insufficient {resource}",),
        text=f"needs {want} {name}".rstrip()
        + f"; {there} of {whole} are free ({used} requested by {len(node.pods)} pods)",
        wanted=wanted,
        there=f"{there} of {whole} free",
        rule=rule,
        facts=facts,
        changes=() if free <= 0 else (_lower(check, free, pod),),
    )


def _lower(check: FitCheck, free: int, pod: fwk.Pod) -> fwk.Change:
    """Lower the request of the container that requests most of the resource; the room `insight` checks it."""
    resource = check.resource
    return fwk.Change(
        kind="request",
        on="pod",
        text=f"{resource}: {amounts.request(resource, free)}",
        effort=1 + 20 * (check.amount - free) / check.amount,
        patch=lower_request(pod, resource, check.amount - free),
    )


def lower_request(pod: fwk.Pod, resource: str, less: int) -> tuple[fwk.PatchOperation, ...]:
    """Take an amount off the requests of the containers, the largest first; empty if they do not add up to it."""
    requests = []
    for number, container in enumerate(pod.spec.containers):
        quantity = container.resources.requests.get(resource, 0)
        requests.append((milli_value(quantity) if resource == "cpu" else value(quantity), number))
    key = resource.replace("~", "~0").replace("/", "~1")
    patch = []
    for amount, number in sorted(requests, key=lambda request: (-request[0], request[1])):
        if less > 0 and amount > 0:
            taken = min(less, amount)
            less -= taken
            path = f"/spec/containers/{number}/resources/requests/{key}"
            patch.append(fwk.PatchOperation("replace", path, amounts.request(resource, amount - taken)))
    return tuple(patch) if less <= 0 else ()
