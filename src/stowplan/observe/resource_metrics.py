"""Requests and limits of each pod: /metrics/resources.

Upstream: pkg/scheduler/metrics/resources/resources.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from stowplan.api import Container, PodSpec
from stowplan.api.quantity import Exact, parse
from stowplan.cache.requests import pod_requests
from stowplan.framework import Pod, PodTemplate
from stowplan.observe.registry import quoted
from stowplan.observe.series import go_float

_NANO = 1e9
_UNITS = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}

_HELP = {
    "kube_pod_resource_request": (
        "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This shows the "
        "resource usage the scheduler and kubelet expect per pod for resources along with the unit for the "
        "resource if any."
    ),
    "kube_pod_resource_limit": (
        "[STABLE] Resources limit for workloads on the cluster, broken down by pod. This shows the resource "
        "usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if"
        " any."
    ),
}

_Ends = tuple[str, ...]
"""The part that pods of a template share: the labels after the pod's name, and the value."""


def expose(pods: Iterable[Pod]) -> bytes:
    """The metrics of these pods as text."""
    found = list(pods)
    lines: list[str] = []
    for position, (name, help_text) in enumerate(_HELP.items()):
        samples = [
            f'{name}{{namespace="{pod.namespace}",node="{pod.node_name}",pod="{pod.name}",{end}'
            for pod in found
            for end in pod.template.derive(_ends, _ends)[position]
        ]
        if samples:
            lines.append(f"# HELP {name} {help_text}\n# TYPE {name} gauge\n")
            lines += samples
    return "".join(lines).encode()


def _ends(template: PodTemplate) -> tuple[_Ends, _Ends]:
    spec = template.spec
    return tuple(_of(spec, pod_requests(spec))), tuple(_of(spec, _limits(spec)))


def _of(spec: PodSpec, amounts: dict[str, Exact]) -> Iterator[str]:
    priority = "" if spec.priority is None else spec.priority
    scheduler = quoted(spec.scheduler_name)
    for resource, amount in sorted(amounts.items()):
        if amount:
            labels = f'priority="{priority}",resource={quoted(resource)},scheduler={scheduler},unit="{_unit(resource)}"'
            yield f"{labels}}} {go_float(amount / _NANO)}\n"


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else _UNITS.get(resource, "")


def _limits(spec: PodSpec) -> dict[str, Exact]:
    """Limits, summed as requests are. Overhead is added only to limited resources."""
    limited = replace(
        spec,
        containers=_with_limits_as_requests(spec.containers),
        init_containers=_with_limits_as_requests(spec.init_containers),
        resources=None if spec.resources is None else replace(spec.resources, requests=spec.resources.limits),
        overhead={},
    )
    amounts = pod_requests(limited)
    return {name: amount + parse(spec.overhead.get(name, 0)) for name, amount in amounts.items() if amount}


def _with_limits_as_requests(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(
        replace(container, resources=replace(container.resources, requests=container.resources.limits))
        for container in containers
    )
