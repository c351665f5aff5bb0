"""The ResourceClaims of a pod in one cycle.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/claims.go,
k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Store
from stowplan.config.releases import DeviceRules
from stowplan.plugins.dynamic_resources.group_claims import GroupClaims
from stowplan.plugins.dynamic_resources.reasons import failure, unresolvable


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim of the pod, as of the beginning of the cycle."""

    claim: api.ResourceClaim
    reachable: api.CompiledNodeSelector | None = None
    """The nodes that reach the allocated devices; None means all nodes."""
    failed: bool = False
    """The allocated devices failed or timed out: the claim cannot be used on any node."""
    group: api.ResourceClaimConsumerReference | None = None
    """The PodGroup that the claim is reserved for; None if it is reserved for the pod."""
    shared: bool = False
    """Whether the allocation is in flight for another member of the pod's group, and must not be used."""

    def usable_on(self, node: fwk.NodeInfo) -> bool:
        if self.failed:
            return False
        return self.reachable is None or self.reachable.matches(node.labels, node.name)


@dataclass(frozen=True, slots=True)
class NodeAllocation:
    """The allocations of a pod's unallocated claims on a node."""

    results: tuple[api.AllocationResult, ...]
    """In the order of `PodClaims.to_allocate`."""
    special: api.ResourceClaim | None = None
    """The special claim for extended resources, as the node needs it."""
    mappings: tuple[api.ContainerExtendedResourceRequest, ...] = ()
    """The requests of the special claim by container."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """All claims of a pod in one cycle. The plugin skips a pod without claims."""

    user: tuple[PodClaim, ...] = ()
    """The claims of the pod's spec."""
    special: PodClaim | None = None
    """The special claim, which the scheduler creates for extended resources that are backed by device classes."""
    extended: Mapping[str, bool] = field(default_factory=dict)
    """The extended resources of the pod, and whether a device class backs each."""
    allocations: Mapping[str, NodeAllocation] = field(default_factory=dict)
    """Allocations by name of node, for nodes that passed Filter. Each lookup makes new share ids, so Reserve calls it
    once and keeps the result."""
    unavailable: set[int] = field(default_factory=set)
    """Positions of the claims that are unavailable on some node."""

    def __iter__(self) -> Iterator[PodClaim]:
        yield from self.user
        if self.special is not None:
            yield self.special

    def __bool__(self) -> bool:
        return bool(self.user) or self.special is not None

    def to_allocate(self) -> list[PodClaim]:
        """The claims without an allocation."""
        return [item for item in self if item.claim.status.allocation is None]


class ClaimLookup(Protocol):
    """A lookup of claims by name."""

    def get(self, name: str, namespace: str, /) -> api.ResourceClaim | None: ...


def resolve(
    pod: fwk.Pod,
    store: ClaimLookup,
    not_owner: str = DeviceRules.not_owner,
    groups: GroupClaims | None = None,
) -> list[api.ResourceClaim] | fwk.Status:
    """The claims of the pod's spec in order, or the status of the first problem. `not_owner` is the text for a claim
    that was created for another pod."""
    found: list[api.ResourceClaim] = []
    for entry in pod.spec.resource_claims:
        generated = entry.resource_claim_name is None
        name = _generated_name(pod, entry) if generated else entry.resource_claim_name
        if isinstance(name, fwk.Status):
            return name
        if name is None:
            continue
        claim = store.get(name, pod.namespace)
        if claim is None:
            return unresolvable(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            return unresolvable(f'resourceclaim "{name}" is being deleted')
        if generated and not is_controlled_by(claim, pod):
            problem = None if groups is None else groups.owner_problem(pod, claim)
            if problem is None:
                return unresolvable(not_owner.format(claim=f"{pod.namespace}/{name}", pod=pod.key))
            if problem:
                return unresolvable(problem)
        found.append(claim)
    return found


def may_use(pod: fwk.Pod, claim: api.ResourceClaim) -> bool:
    """Whether the pod's spec or status names the claim."""
    if claim.metadata.namespace != pod.namespace:
        return False
    name = claim.metadata.name
    return any(status.resource_claim_name == name for status in pod.template.claim_statuses) or any(
        entry.resource_claim_name == name for entry in pod.spec.resource_claims
    )


def check_requests(claim: api.ResourceClaim, classes: Store[api.DeviceClass]) -> fwk.Status | None:
    """The status of a claim whose device class does not exist, None if all exist."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            wanted = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            wanted = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
        else:
            return unresolvable(f"resource claim {key(claim)}, request {request.name}: unknown request type")
        for name, device_class in wanted:
            if not device_class:
                return failure(f"request {name}: unsupported request type")
            if classes.get(device_class) is None:
                return unresolvable(f"request {name}: device class {device_class} does not exist")
    return None


def is_reserved_for(claim: api.ResourceClaim, uid: str) -> bool:
    """Whether the pod or PodGroup with that uid may use the claim."""
    return any(consumer.uid == uid for consumer in claim.status.reserved_for)


def key(claim: api.ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def _generated_name(pod: fwk.Pod, entry: api.PodResourceClaim) -> str | fwk.Status | None:
    """The name of the claim created from a template; None if none is needed."""
    if entry.resource_claim_template_name is None:
        at = f'pod "{pod.key}", spec.resourceClaim "{entry.name}"'
        return unresolvable(f"{at}: none of the supported fields are set")
    for status in pod.template.claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name
    return unresolvable(f'pod "{pod.key}": ResourceClaim not created yet')


def is_controlled_by(claim: api.ResourceClaim, pod: fwk.Pod) -> bool:
    """Whether the claim was made for the pod."""
    controller = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return controller is not None and controller.uid == pod.uid
