"""Device requests for the extended resources of a pod, and their mapping to containers.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import value

Mapping = api.ContainerExtendedResourceRequest
Requests = tuple[tuple[api.DeviceRequest, ...], tuple[Mapping, ...]]


def requests_for(
    template: fwk.PodTemplate, resources: Iterable[str], class_of: Callable[[str], api.DeviceClass | None]
) -> Requests:
    """(requests by name, mappings) for the extended resources of a pod that devices must serve.

    Init containers that end reuse the devices of later containers, and request more only if these are not enough.
    They run one after the other, so the largest such request is enough for all.
    """
    requests: list[api.DeviceRequest] = []
    mappings: list[Mapping] = []
    for resource in sorted(resources):
        device_class = class_of(resource)
        if device_class is not None:
            made, mapped = _for_resource(template.spec, resource, device_class.metadata.name)
            requests += made
            mappings += mapped
    return tuple(sorted(requests, key=lambda request: request.name)), tuple(mappings)


def _for_resource(spec: api.PodSpec, resource: str, class_name: str) -> tuple[list[api.DeviceRequest], list[Mapping]]:
    containers = (*spec.init_containers, *spec.containers)
    inits = len(spec.init_containers)
    passing = [i for i in range(inits) if containers[i].restart_policy != "Always"]
    lasting: list[api.DeviceRequest | None] = [None] * len(containers)
    mappings: list[Mapping] = []
    for i, container in enumerate(containers):
        if i not in passing:
            lasting[i], mapped = _for_container(i, container, resource, class_name, ())
            mappings += mapped
    largest: api.DeviceRequest | None = None
    names: set[str] = set()
    passing_mappings: list[Mapping] = []
    for i in passing:
        request, mapped = _for_container(i, containers[i], resource, class_name, lasting[i:])
        passing_mappings += mapped
        if request is not None:
            names.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
    if largest is not None:
        passing_mappings = [
            replace(mapping, request_name=largest.name) if mapping.request_name in names else mapping
            for mapping in passing_mappings
        ]
    return [request for request in (largest, *lasting) if request is not None], mappings + passing_mappings


def _for_container(
    index: int,
    container: api.Container,
    resource: str,
    class_name: str,
    reusable: Sequence[api.DeviceRequest | None],
) -> tuple[api.DeviceRequest | None, list[Mapping]]:
    """(the container's own request, the requests that it uses)."""
    amounts = container.resources.requests
    wanted = value(amounts[resource]) if resource in amounts else 0
    mappings: list[Mapping] = []
    for request in reusable if wanted else ():
        if request is not None:
            mappings.append(_mapping(container, resource, request.name))
            wanted -= _count(request)
            if wanted <= 0:
                return None, mappings
    if not wanted:
        return None, mappings
    name = f"container-{index}-request-{sorted(amounts).index(resource)}"
    exactly = api.ExactDeviceRequest(device_class_name=class_name, allocation_mode="ExactCount", count=wanted)
    mappings.append(_mapping(container, resource, name))
    return api.DeviceRequest(name=name, exactly=exactly), mappings


def _count(request: api.DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _mapping(container: api.Container, resource: str, request: str) -> Mapping:
    return Mapping(container_name=container.name, resource_name=resource, request_name=request)
