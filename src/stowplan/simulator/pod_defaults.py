"""What an API server fills in where a pod leaves something open, as far as scheduling reads it."""

from __future__ import annotations

from msgspec.structs import replace

from stowplan import api
from stowplan.api.tolerations import NO_EXECUTE
from stowplan.cache.requests import pod_requests

_DEFAULT_SECONDS = 300
_UNWELL = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def with_defaults(spec: api.PodSpec) -> api.PodSpec:
    """The spec with requests, host ports and tolerations filled in; the very same one where nothing is missing."""
    containers = tuple(_with_defaults(each, spec.host_network) for each in spec.containers)
    init_containers = tuple(_with_defaults(each, spec.host_network) for each in spec.init_containers)
    if containers != spec.containers or init_containers != spec.init_containers:
        spec = replace(spec, containers=containers, init_containers=init_containers)
    if spec.resources is not None and spec.resources.limits:
        spec = replace(spec, resources=_with_pod_requests(spec, spec.resources))
    if missing := tuple(_patience(key) for key in _UNWELL if not _tolerates(spec, key)):
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
    """Requests of the whole pod: what its containers add up to, else its limits."""
    added_up = pod_requests(replace(spec, overhead={}), pod_level=False)
    sums = {name: f"{added_up[name]}n" for name in _POD_LEVEL if name in added_up}
    limits = {
        name: amount for name, amount in resources.limits.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    return replace(resources, requests={**limits, **sums, **resources.requests})


def _tolerates(spec: api.PodSpec, key: str) -> bool:
    return any(each.key in ("", key) and each.effect in ("", NO_EXECUTE) for each in spec.tolerations)


def _patience(key: str) -> api.Toleration:
    """How long a pod stays on a node that is not well."""
    return api.Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=_DEFAULT_SECONDS)
