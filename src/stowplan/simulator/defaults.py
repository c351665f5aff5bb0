"""Defaults that the API server sets in pods and resource claims, as far as scheduling reads them.

Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/resource/v1/defaults.go,
plugin/pkg/admission/defaulttolerationseconds/admission.go
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from stowplan import api
from stowplan.api.tolerations import NO_EXECUTE
from stowplan.cache.requests import pod_requests

_TOLERATION_SECONDS = 300
_NODE_FAILURE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"
_EXACT_COUNT = "ExactCount"

R = TypeVar("R", api.ExactDeviceRequest, api.DeviceSubRequest)


def with_defaults(spec: api.PodSpec) -> api.PodSpec:
    """The spec with default requests, host ports and tolerations; the same object if nothing is missing."""
    containers = tuple(_with_defaults(each, spec.host_network) for each in spec.containers)
    init_containers = tuple(_with_defaults(each, spec.host_network) for each in spec.init_containers)
    if containers != spec.containers or init_containers != spec.init_containers:
        spec = replace(spec, containers=containers, init_containers=init_containers)
    if spec.resources is not None and spec.resources.limits:
        spec = replace(spec, resources=_with_pod_requests(spec, spec.resources))
    if missing := tuple(_default_toleration(key) for key in _NODE_FAILURE_TAINTS if not _tolerates(spec, key)):
        spec = replace(spec, tolerations=(*spec.tolerations, *missing))
    return spec


def _with_defaults(container: api.Container, host_network: bool) -> api.Container:
    resources = container.resources
    if any(name not in resources.requests for name in resources.limits):
        resources = replace(resources, requests={**resources.limits, **resources.requests})
        container = replace(container, resources=resources)
    if host_network and any(not port.host_port for port in container.ports):
        ports = (replace(port, host_port=port.host_port or port.container_port) for port in container.ports)
        container = replace(container, ports=tuple(ports))
    return container


def _with_pod_requests(spec: api.PodSpec, resources: api.ResourceRequirements) -> api.ResourceRequirements:
    """Pod-level requests: the sums of its containers, else its limits."""
    added_up = pod_requests(replace(spec, overhead={}), pod_level=False)
    sums = {name: f"{added_up[name]}n" for name in _POD_LEVEL if name in added_up}
    limits = {
        name: amount for name, amount in resources.limits.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    return replace(resources, requests={**limits, **sums, **resources.requests})


def _tolerates(spec: api.PodSpec, key: str) -> bool:
    return any(each.key in ("", key) and each.effect in ("", NO_EXECUTE) for each in spec.tolerations)


def _default_toleration(key: str) -> api.Toleration:
    """Eviction from a failed node is delayed by five minutes."""
    return api.Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=_TOLERATION_SECONDS)


def with_claim_defaults(claim: api.ResourceClaim) -> api.ResourceClaim:
    return replace(claim, spec=_with_request_defaults(claim.spec))


def with_template_defaults(template: api.ResourceClaimTemplate) -> api.ResourceClaimTemplate:
    return replace(template, spec=replace(template.spec, spec=_with_request_defaults(template.spec.spec)))


def _with_request_defaults(spec: api.ResourceClaimSpec) -> api.ResourceClaimSpec:
    requests = tuple(
        replace(
            request,
            exactly=None if request.exactly is None else _counted(request.exactly),
            first_available=tuple(map(_counted, request.first_available)),
        )
        for request in spec.devices.requests
    )
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _counted(request: R) -> R:
    """The request with its default allocation mode and count: exactly one device."""
    mode = request.allocation_mode or _EXACT_COUNT
    return replace(request, allocation_mode=mode, count=request.count or (1 if mode == _EXACT_COUNT else 0))
