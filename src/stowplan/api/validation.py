"""Validation of objects, as far as scheduling depends on it.

An API server has validated the objects of a cluster, but not objects from files, where a negative request or a mistyped
operator would change verdicts unnoticed. Objects that an API server accepts are valid here. A problem is one line:
path, colon, text.

Upstream: pkg/apis/core/validation/validation.go
"""

from collections.abc import Callable, Iterable
from typing import Any

from stowplan.api import checks
from stowplan.api.checks import Problems, below
from stowplan.api.device import CapacityRequestPolicy, ResourceSlice
from stowplan.api.limits import HorizontalPodAutoscaler, LimitRange, ResourceQuota
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.pod_checks import pod_problems
from stowplan.api.pod_group_checks import pod_group_problems, workload_problems
from stowplan.api.policy import PodDisruptionBudget
from stowplan.api.resource import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from stowplan.api.storage import CSIStorageCapacity, StorageClass
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from stowplan.api.volumes import PersistentVolume, PersistentVolumeClaim
from stowplan.api.workload_checks import WORKLOAD_CHECKS

_TAINT_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_LIMITS = (
    ("max", "max"),
    ("min", "min"),
    ("default", "default"),
    ("default_request", "defaultRequest"),
    ("max_limit_request_ratio", "maxLimitRequestRatio"),
)
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


def validate(kind: str, item: Any, path: str = "$") -> list[str]:
    """All problems of an object of a kind in `KINDS`."""
    check = _CHECKS.get(kind)
    found = [*checks.metadata(item.metadata), *(check(item) if check else ())]
    return _lines(path, found)


def validate_pod(pod: Pod, path: str = "$.pod") -> list[str]:
    """All problems of a pod."""
    return _lines(path, (*checks.metadata(pod.metadata), *pod_problems(pod)))


def validate_node(node: Node, path: str = "$.node") -> list[str]:
    """All problems of a node."""
    return _lines(path, (*checks.metadata(node.metadata), *_node(node)))


def _lines(path: str, found: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{path}{where}: {problem}" for where, problem in found]


def _node(node: Node) -> Problems:
    yield from checks.quantities(".status.allocatable", node.status.allocatable)
    yield from checks.quantities(".status.capacity", node.status.capacity)
    for i, taint in enumerate(node.spec.taints):
        if not taint.key:
            yield f".spec.taints[{i}].key", "must not be empty"
        yield from checks.one_of(f".spec.taints[{i}].effect", taint.effect, _TAINT_EFFECTS)


def _disruption_budget(budget: PodDisruptionBudget) -> Problems:
    spec = budget.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield ".spec", "minAvailable and maxUnavailable cannot be both set"
    yield from checks.int_or_percent(".spec.minAvailable", spec.min_available)
    yield from checks.int_or_percent(".spec.maxUnavailable", spec.max_unavailable)
    yield from checks.label_selector(".spec.selector", spec.selector)


def _claim(claim: PersistentVolumeClaim) -> Problems:
    yield from checks.claim_spec(".spec", claim.spec)


def _volume(volume: PersistentVolume) -> Problems:
    yield from checks.quantities(".spec.capacity", volume.spec.capacity)
    if volume.spec.node_affinity is not None:
        yield from checks.node_selector(".spec.nodeAffinity.required", volume.spec.node_affinity.required)


def _limit_range(item: LimitRange) -> Problems:
    for i, limit in enumerate(item.spec.limits):
        for attribute, name in _LIMITS:
            yield from checks.quantities(f".spec.limits[{i}].{name}", getattr(limit, attribute))


def _resource_quota(item: ResourceQuota) -> Problems:
    yield from checks.quantities(".spec.hard", item.spec.hard)


def _autoscaler(item: HorizontalPodAutoscaler) -> Problems:
    spec = item.spec
    if spec.max_replicas < 1:
        yield ".spec.maxReplicas", "must be greater than 0"
    yield from checks.not_negative(".spec.minReplicas", spec.min_replicas)
    if spec.min_replicas is not None and spec.max_replicas < spec.min_replicas:
        yield ".spec.maxReplicas", "must be greater than or equal to `minReplicas`"


def _storage_class(item: StorageClass) -> Problems:
    if item.volume_binding_mode is not None:
        yield from checks.one_of(".volumeBindingMode", item.volume_binding_mode, _BINDING_MODES)


def _storage_capacity(item: CSIStorageCapacity) -> Problems:
    yield from checks.quantity(".capacity", item.capacity)
    yield from checks.quantity(".maximumVolumeSize", item.maximum_volume_size)
    yield from checks.label_selector(".nodeTopology", item.node_topology)


def _resource_slice(item: ResourceSlice) -> Problems:
    yield from checks.node_selector(".spec.nodeSelector", item.spec.node_selector)
    for i, counters in enumerate(item.spec.shared_counters):
        path = f".spec.sharedCounters[{i}].counters"
        yield from checks.quantities(path, {name: counter.value for name, counter in counters.counters.items()})
    for i, device in enumerate(item.spec.devices):
        path = f".spec.devices[{i}]"
        yield from checks.node_selector(f"{path}.nodeSelector", device.node_selector)
        yield from checks.quantities(f"{path}.capacity", {name: each.value for name, each in device.capacity.items()})
        for name, each in device.capacity.items():
            yield from below(f"{path}.capacity.{name}.requestPolicy", _request_policy(each.request_policy))
        for j, used in enumerate(device.consumes_counters):
            amounts = {name: counter.value for name, counter in used.counters.items()}
            yield from checks.quantities(f"{path}.consumesCounters[{j}].counters", amounts)


def _request_policy(policy: CapacityRequestPolicy | None) -> Problems:
    if policy is None:
        return
    yield from checks.quantity(".default", policy.default)
    for i, value in enumerate(policy.valid_values):
        yield from checks.quantity(f".validValues[{i}]", value)
    if policy.valid_range is not None:
        yield from checks.quantity(".validRange.min", policy.valid_range.min)
        yield from checks.quantity(".validRange.max", policy.valid_range.max)
        yield from checks.quantity(".validRange.step", policy.valid_range.step)


def _resource_claim(claim: ResourceClaim) -> Problems:
    yield from below(".spec", _device_requests(claim.spec))
    if claim.status.allocation is not None:
        yield from checks.node_selector(".status.allocation.nodeSelector", claim.status.allocation.node_selector)
        for i, result in enumerate(claim.status.allocation.devices.results):
            path = f".status.allocation.devices.results[{i}].consumedCapacity"
            yield from checks.quantities(path, result.consumed_capacity)


def _resource_claim_template(template: ResourceClaimTemplate) -> Problems:
    yield from below(".spec.spec", _device_requests(template.spec.spec))


def _device_requests(spec: ResourceClaimSpec) -> Problems:
    for i, request in enumerate(spec.devices.requests):
        path = f".devices.requests[{i}]"
        if (request.exactly is None) == (not request.first_available):
            yield path, "exactly one of `exactly` or `firstAvailable` is required"
        if request.exactly is not None and request.exactly.capacity is not None:
            yield from checks.quantities(f"{path}.exactly.capacity.requests", request.exactly.capacity.requests)
        for j, alternative in enumerate(request.first_available):
            if alternative.capacity is not None:
                at = f"{path}.firstAvailable[{j}].capacity.requests"
                yield from checks.quantities(at, alternative.capacity.requests)


_CHECKS: dict[str, Callable[[Any], Problems]] = {
    "Pod": pod_problems,
    "Node": _node,
    **WORKLOAD_CHECKS,
    "PodGroup": pod_group_problems,
    "Workload": workload_problems,
    "PodDisruptionBudget": _disruption_budget,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "LimitRange": _limit_range,
    "ResourceQuota": _resource_quota,
    "HorizontalPodAutoscaler": _autoscaler,
    "StorageClass": _storage_class,
    "CSIStorageCapacity": _storage_capacity,
    "ResourceSlice": _resource_slice,
    "ResourceClaim": _resource_claim,
    "ResourceClaimTemplate": _resource_claim_template,
}
