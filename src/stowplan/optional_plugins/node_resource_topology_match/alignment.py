"""Whether the kubelet can align a pod with one NUMA zone.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/filter.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import api
from stowplan.cache.requests import is_extended_resource
from stowplan.framework import PodTemplate
from stowplan.optional_plugins.base.qos_class import QosClass, qos_class
from stowplan.optional_plugins.base.requests import Amounts, amounts, effective_request
from stowplan.optional_plugins.node_resource_topology_match.topology import POD_SCOPE, NodeTopology

_ALWAYS_ALLOCATABLE = ("cpu", "memory", "ephemeral-storage")
_NOT_NUMA = ("ephemeral-storage", "storage")

CANNOT_ALIGN_POD = "cannot align pod"
CANNOT_ALIGN_CONTAINER = "cannot align container"
CANNOT_ALIGN_INIT_CONTAINER = "cannot align init container"
CANNOT_ALIGN_SIDECAR = "cannot align sidecar container"


def is_native(resource: str) -> bool:
    """Whether a resource is Kubernetes' own, such as cpu."""
    return not is_extended_resource(resource)


def is_shared(resource: str, qos: QosClass) -> bool:
    """Whether pods of the class get the resource from any zone. Only Guaranteed pods have cpu and memory to
    themselves."""
    is_numa_native = resource in ("cpu", "memory") or resource.startswith("hugepages-")
    return qos != QosClass.Guaranteed and is_numa_native


class ContainerNeeds:
    """What the containers of a template need; computed once for a template."""

    __slots__ = ("containers", "init_containers", "qos", "total")

    def __init__(self, template: PodTemplate) -> None:
        spec = template.spec
        self.qos = qos_class(template)
        self.total: Mapping[str, int] = effective_request(template)
        self.containers = [amounts(container.resources.requests) for container in spec.containers]
        self.init_containers = [(_text_of(c), amounts(c.resources.requests)) for c in spec.init_containers]

    @property
    def is_indifferent(self) -> bool:
        """Whether the pod may use any zone: it has no requests but for resources that Kubernetes shares out."""
        return self.qos == QosClass.BestEffort and all(map(is_native, self.total))


def needs_of(template: PodTemplate) -> ContainerNeeds:
    return template.derive(ContainerNeeds, ContainerNeeds)


def _text_of(container: api.Container) -> str:
    return CANNOT_ALIGN_SIDECAR if container.restart_policy == "Always" else CANNOT_ALIGN_INIT_CONTAINER


def misalignment(needs: ContainerNeeds, topology: NodeTopology, allocatable: Mapping[str, int]) -> str:
    """Why the kubelet of a node with policy single-numa-node would reject the pod; empty if it would not."""
    zones = {zone.id: dict(zone.available) for zone in topology.zones}
    if topology.scope == POD_SCOPE:
        return "" if fitting_zone(needs.total, zones, needs.qos, allocatable) is not None else CANNOT_ALIGN_POD
    for text, request in needs.init_containers:
        if fitting_zone(request, zones, needs.qos, allocatable) is None:
            return text
    for request in needs.containers:
        zone = fitting_zone(request, zones, needs.qos, allocatable)
        if zone is None:
            return CANNOT_ALIGN_CONTAINER
        _take(zones.get(zone, {}), request, needs.qos)
    return ""


def fitting_zone(
    request: Mapping[str, int], zones: Mapping[int, Amounts], qos: QosClass, allocatable: Mapping[str, int]
) -> int | None:
    """The lowest zone that has all of the request; None without one. Zone 0 if no zone matters."""
    fitting: set[int] | None = None
    for name, amount in request.items():
        if not amount:
            continue
        if name not in allocatable and name not in _ALWAYS_ALLOCATABLE:
            return None
        listing = [zone for zone, available in zones.items() if name in available]
        if not listing and (name in _NOT_NUMA or not is_native(name)):
            continue
        enough = {zone for zone in listing if is_shared(name, qos) or zones[zone][name] >= amount}
        fitting = enough if fitting is None else fitting & enough
        if not fitting:
            return None
    return 0 if fitting is None else min(fitting)


def _take(available: Amounts, request: Mapping[str, int], qos: QosClass) -> None:
    for name, amount in request.items():
        if name in available and not is_shared(name, qos):
            available[name] -= amount


def exclusive_resources(template: PodTemplate, listed: Iterable[str]) -> bool:
    """Whether pods of the template hold something in a zone that other pods cannot use meanwhile."""
    needs = needs_of(template)
    listed = set(listed)
    for name, amount in needs.total.items():
        if not amount:
            continue
        if not is_native(name):
            if name in listed:
                return True
        elif needs.qos == QosClass.Guaranteed and (
            name == "memory" or name.startswith("hugepages-") or (name == "cpu" and amount % 1000 == 0)
        ):
            return True
    return False
