"""Where a pod's request comes from: containers, sidecars, an init container, pod-level resources, overhead.

The rules are those of `cache.requests`: the larger of the sum of containers and sidecars, and of each init container
with the sidecars before it; pod-level requests take the place of both; overhead is added.
"""

from __future__ import annotations

from typing import NamedTuple

from stowplan import api
from stowplan.api import amounts
from stowplan.api.quantity import Exact, parse, round_up
from stowplan.framework import Pod
from stowplan.framework.explanation import ExplainedPod

OVERHEAD = "overhead"
POD = "pod"


class RequestParts(NamedTuple):
    """The parts of a pod's request for one resource, in millicores or whole units; they add up to the request."""

    parts: dict[str, int]
    """By container name; `overhead`; `pod` for a pod-level request."""
    init: str = ""
    """The init container that makes the request, if it is one."""
    containers: int = 0
    """What containers and sidecars add up to."""

    @property
    def is_one_container(self) -> bool:
        return len(self.parts) <= 1 and not self.init and POD not in self.parts


def request_parts(pod: Pod, resource: str) -> RequestParts:
    """The parts of the request for a resource."""
    spec = pod.spec
    running = [(each.name, _amount(each.resources.requests, resource)) for each in spec.containers]
    sidecars: list[tuple[str, Exact]] = []
    peak: list[tuple[str, Exact]] = []
    of_sidecars: Exact = 0
    highest: Exact = 0
    for each in spec.init_containers:
        own = (each.name, _amount(each.resources.requests, resource))
        if each.restart_policy == "Always":
            sidecars.append(own)
            of_sidecars += own[1]
        elif own[1] + of_sidecars > highest:
            highest, peak = own[1] + of_sidecars, [own, *sidecars]
    running += sidecars
    chosen, init = (peak, peak[0][0]) if highest > _sum(running) else (running, "")
    containers = round_up(resource, _sum(running))
    if spec.resources is not None and resource in spec.resources.requests and _sets_pod_level(resource):
        chosen, init = [(POD, _amount(spec.resources.requests, resource))], ""
    chosen = [*chosen, (OVERHEAD, _amount(spec.overhead, resource))]
    return RequestParts(_rounded(resource, chosen), init, containers)


def made_of(pod: Pod) -> dict[str, dict[str, int]]:
    """The parts of each request that is more than the request of one container."""
    found = {resource: request_parts(pod, resource) for resource, amount in pod.template.requests.items() if amount}
    return {resource: parts.parts for resource, parts in found.items() if not parts.is_one_container}


def sum_in_words(pod: Pod, resource: str) -> str:
    """`12 CPU = app 11 + proxy 0.5 + overhead 0.5.`; empty for the request of one container."""
    found = request_parts(pod, resource)
    if found.is_one_container:
        return ""
    whole = amounts.in_words(resource, pod.template.requests[resource])
    if len(found.parts) == 1:
        rest = amounts.in_words(resource, found.containers) if found.containers else f"no {resource}"
        whose = f"Its init container {found.init} alone asks" if found.init else "The pod itself (spec.resources) asks"
        return f"{whose} for {whole}; its containers ask for {rest} together."
    names = {found.init: f"init container {found.init}", POD: "the pod itself (spec.resources)"}
    texts = [
        f"{names.get(name, name) if name else name} {amounts.bare(resource, part)}"
        for name, part in found.parts.items()
    ]
    return f"{whole} = {' + '.join(texts)}."


def requests_in_words(pod: ExplainedPod) -> str:
    """`12 CPU (app 11, proxy 1), 48Gi`: cpu and memory first."""
    texts = []
    for resource in amounts.ordered(pod.requests):
        if pod.requests[resource]:
            parts = [f"{name} {amounts.bare(resource, part)}" for name, part in pod.made_of.get(resource, {}).items()]
            of = f" ({', '.join(parts)})" if parts else ""
            texts.append(amounts.in_words(resource, pod.requests[resource]) + of)
    return ", ".join(texts)


def _amount(resources: api.ResourceList, resource: str) -> Exact:
    return parse(resources[resource]) if resource in resources else 0


def _sum(parts: list[tuple[str, Exact]]) -> Exact:
    total: Exact = 0
    for _, amount in parts:
        total += amount
    return total


def _sets_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _rounded(resource: str, parts: list[tuple[str, Exact]]) -> dict[str, int]:
    """Whole amounts that add up to the rounded sum; parts of nothing are left out."""
    found: dict[str, int] = {}
    total: Exact = 0
    before = 0
    for name, amount in parts:
        total += amount
        now = round_up(resource, total)
        if now > before:
            found[name] = found.get(name, 0) + now - before
        before = now
    return found
