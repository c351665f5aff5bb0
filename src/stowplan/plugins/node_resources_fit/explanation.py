"""Rejections by NodeResourcesFit in words: what the pod requests, what is free, and the smallest changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stowplan import framework as fwk
from stowplan.api import amounts
from stowplan.api.selector_words import listed, pods_in_words
from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable
from stowplan.plugins.node_resources_fit.lowering import lower_request


class FitCheck(NamedTuple):
    """One resource that a pod requests, with its columns."""

    resource: str
    amount: int
    allocatable: Column
    requested: Column
    delegable: bool
    """Whether the resource is extended: a node without it may have devices for it, which DynamicResources checks."""


def explain_shortages(
    checks: Iterable[FitCheck], nodes: NodeTable, pod: fwk.Pod, node: fwk.NodeInfo
) -> list[fwk.Refusal]:
    """A refusal for each resource of which the node has too little."""
    found = []
    checks = tuple(checks)
    rule = f"with {listed(amounts.in_words(check.resource, check.amount) for check in checks)} free"
    pods, allowed = nodes.pod_count.values[node.slot], nodes.allowed_pods.values[node.slot]
    if pods >= allowed:
        found.append(_too_many_pods(pods, allowed))
    for check in checks:
        allocatable, requested = check.allocatable.values[node.slot], check.requested.values[node.slot]
        if check.amount > allocatable - requested:
            found.append(_shortage(check, allocatable, allocatable - requested, pod, node, rule))
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
        _, *figures = amounts.compared(check.resource, check.amount, free, allocatable)
        there.append(f"{figures[0]} of {figures[1]}{amounts.unit(check.resource)}")
    return fwk.Requirement(wanted, ", ".join(there) + " free")


def _too_many_pods(pods: int, allowed: int) -> fwk.Refusal:
    return fwk.Refusal(
        id="pods.too-many",
        reasons=("Too many pods",),
        text=f"holds {pods:,} of {allowed:,} pods",
        wanted="1 pod",
        there=f"{pods:,} of {allowed:,} pods",
        rule="room for one more pod",
        facts={"resource": "pods", "wanted": 1, "free": allowed - pods, "allocatable": allowed},
    )


def _shortage(check: FitCheck, allocatable: int, free: int, pod: fwk.Pod, node: fwk.NodeInfo, rule: str) -> fwk.Refusal:
    resource, amount = check.resource, check.amount
    unit = amounts.unit(resource)
    too_small = amount > allocatable
    if too_small:
        want, there = amounts.compared(resource, amount, allocatable)
        has = f"{there} in all" if allocatable else "none"
        text = f"asks for {want}{unit}; the node {'has' if allocatable else 'offers'} {has}"
        there = has
    else:
        want, left, whole = amounts.compared(resource, amount, free, allocatable)
        used = f"{amounts.bare(resource, allocatable - free)} requested by {pods_in_words(len(node.pods))}"
        text = f"needs {want}{unit}; {left} of {whole} {'is' if left == '1' else 'are'} free ({used})"
        there = f"{left} of {whole} free"
    return fwk.Refusal(
        id="resources.too-small" if too_small else "resources.insufficient",
        reasons=(f"Insufficient {resource}",),
        text=text,
        wanted=amounts.in_words(resource, amount),
        there=there,
        rule=rule,
        lasting=too_small,
        facts={
            "resource": resource,
            "wanted": amount,
            "free": free,
            "allocatable": allocatable,
            "pods": len(node.pods),
        },
        changes=_lower(check, free, pod),
        notes=() if too_small else tuple(_uncounted(resource, node)),
    )


def _uncounted(resource: str, node: fwk.NodeInfo) -> Iterator[str]:
    """A note if most pods of the node request nothing of the resource."""
    without = sum(not pod.template.requests.get(resource, 0) for pod in node.pods.values())
    if resource in ("cpu", "memory") and 2 * without > len(node.pods):
        do = "requests" if without == 1 else "request"
        yield f"{pods_in_words(without)} on {node.name} {do} no {resource}: usage is not counted, requests are."


def _lower(check: FitCheck, free: int, pod: fwk.Pod) -> tuple[fwk.Change, ...]:
    """Lower the request to the free amount; the room `insight` checks it."""
    patch = lower_request(pod, check.resource, check.amount - free) if free > 0 else ()
    if not patch:
        return ()
    change = fwk.Change(
        kind="request",
        on="pod",
        text=f"{check.resource}: {amounts.request(check.resource, free)}",
        effort=1 + 20 * (check.amount - free) / check.amount,
        patch=patch,
    )
    return (change,)
