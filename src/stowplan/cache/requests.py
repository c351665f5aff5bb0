"""The resource requests of a pod, summed over its containers as the API defines it.

Sums are made of exact quantities and rounded up once, at the end: two containers of half a milli-core need one
milli-core together, not two.

Upstream: k8s.io/component-helpers/resource/helpers.go (PodRequests)
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.api import Container, PodSpec, PodStatus, ResourceList
from stowplan.api.quantity import Exact, milli_value, parse, round_up, value
from stowplan.framework import PodTemplate

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024

Amounts = dict[str, Exact]

_DEFAULTS: Amounts = {"cpu": parse(f"{DEFAULT_MILLI_CPU}m"), "memory": parse(DEFAULT_MEMORY_BYTES)}


def scheduling_requests(spec: PodSpec, status: PodStatus | None = None) -> tuple[dict[str, int], tuple[int, int]]:
    """(requests by resource, non-zero cpu and memory) that a pod takes from its node.

    With a status, the resources that a running pod really has count where in-place resize holds them apart.
    """
    if status is None and not spec.init_containers and spec.resources is None and not spec.overhead:
        if len(spec.containers) == 1:
            return _single_requests(spec.containers[0].resources.requests)
        amounts, padded = _plain_requests(spec)
    else:
        amounts = pod_requests(spec, status=status)
        missing = _DEFAULTS
        if _pod_level_requests(spec):
            missing = {name: amount for name, amount in _DEFAULTS.items() if name not in amounts}
        padded = pod_requests(spec, status=status, missing=missing) if missing else amounts
    requests = {name: round_up(name, amount) for name, amount in amounts.items() if is_schedulable_resource(name)}
    return requests, (round_up("cpu", padded.get("cpu", 0)), round_up("memory", padded.get("memory", 0)))


def scoring_requests(template: PodTemplate) -> dict[str, int]:
    """Requests as NodeResourcesFit scores an incoming pod: defaults per container, pod-level requests ignored."""
    if template.spec.resources is None:
        cpu, memory = template.non_zero_requests
        return {**template.requests, "cpu": cpu, "memory": memory}
    amounts = pod_requests(template.spec, missing=_DEFAULTS, pod_level=False)
    return {name: round_up(name, amount) for name, amount in amounts.items()}


def _single_requests(requests: ResourceList) -> tuple[dict[str, int], tuple[int, int]]:
    """The same for a pod of one container, without init containers, overhead and pod-level resources."""
    rounded = {
        name: milli_value(quantity) if name == "cpu" else value(quantity)
        for name, quantity in requests.items()
        if is_schedulable_resource(name)
    }
    return rounded, (rounded.get("cpu", DEFAULT_MILLI_CPU), rounded.get("memory", DEFAULT_MEMORY_BYTES))


def _plain_requests(spec: PodSpec) -> tuple[Amounts, Amounts]:
    """(sums, sums with defaults) for the common pod, which has nothing but containers."""
    amounts: Amounts = {}
    absent = {"cpu": 0, "memory": 0}
    for container in spec.containers:
        requests = container.resources.requests
        for name, quantity in requests.items():
            amounts[name] = amounts.get(name, 0) + parse(quantity)
        for name in absent:
            absent[name] += name not in requests
    return amounts, {name: amounts.get(name, 0) + absent[name] * _DEFAULTS[name] for name in absent}


def pod_requests(
    spec: PodSpec, *, status: PodStatus | None = None, missing: Mapping[str, Exact] = {}, pod_level: bool = True
) -> Amounts:
    """Exact requests of a whole pod; `missing` fills resources that a container does not mention."""
    running = _running_containers(status)
    infeasible = status is not None and _resize_infeasible(status)
    total: Amounts = {}
    for container in spec.containers:
        _add(total, _container_requests(container, running, infeasible, missing))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            own = _container_requests(container, running, infeasible, missing)
            _add(total, own)
            _add(sidecars, own)
            _raise(peak, sidecars)
        else:
            use = _container_requests(container, {}, infeasible, missing)
            _add(use, sidecars)
            _raise(peak, use)
    _raise(total, peak)
    if pod_level and spec.resources is not None and _pod_level_requests(spec):
        total.update(_pod_level_amounts(spec.resources.requests, status, infeasible))
    _add(total, _exact_list(spec.overhead))
    return total


def is_schedulable_resource(name: str) -> bool:
    """Resources that nodes are accounted for: the native ones, extended ones, huge pages, attachable volumes."""
    return name in ("cpu", "memory", "ephemeral-storage") or is_scalar_resource(name)


def is_scalar_resource(name: str) -> bool:
    return (
        is_extended_resource(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name
    )


def is_extended_resource(name: str) -> bool:
    """An extended resource: one outside of the kubernetes.io domain, such as a vendor's device."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _exact_list(amounts: ResourceList) -> Amounts:
    return {name: parse(quantity) for name, quantity in amounts.items()}


def _running_containers(status: PodStatus | None) -> dict[str, tuple[ResourceList, ResourceList]]:
    """Requests and allocated resources of the containers that report any."""
    if status is None:
        return {}
    reports = (*status.container_statuses, *status.init_container_statuses)
    return {r.name: (r.resources.requests, r.allocated_resources) for r in reports if r.resources is not None}


def _resize_infeasible(status: PodStatus) -> bool:
    for condition in status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _effective(spec: ResourceList, actual: ResourceList, allocated: ResourceList, infeasible: bool) -> Amounts:
    """The most that a resized container may use now; a resize that cannot happen does not count."""
    amounts = _exact_list(actual)
    _raise(amounts, _exact_list(allocated))
    if not infeasible:
        _raise(amounts, _exact_list(spec))
    return amounts


def _container_requests(
    container: Container,
    running: Mapping[str, tuple[ResourceList, ResourceList]],
    infeasible: bool,
    missing: Mapping[str, Exact],
) -> Amounts:
    report = running.get(container.name)
    spec = container.resources.requests
    amounts = _exact_list(spec) if report is None else _effective(spec, *report, infeasible)
    for name, amount in missing.items():
        amounts.setdefault(name, amount)
    return amounts


def _pod_level_requests(spec: PodSpec) -> bool:
    return spec.resources is not None and any(map(_supported_at_pod_level, spec.resources.requests))


def _supported_at_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _pod_level_amounts(requests: ResourceList, status: PodStatus | None, infeasible: bool) -> Amounts:
    amounts = _exact_list(requests)
    if status is not None and status.resources is not None:
        amounts = _effective(requests, status.resources.requests, status.allocated_resources, infeasible)
    return {name: amounts.get(name, 0) for name in requests if _supported_at_pod_level(name)}


def _add(total: Amounts, more: Mapping[str, Exact]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, floor: Mapping[str, Exact]) -> None:
    for name, amount in floor.items():
        if name not in total or amount > total[name]:
            total[name] = amount
