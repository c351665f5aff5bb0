"""Reserve and Unreserve.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.claims import PodClaims, is_reserved_for
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reasons import NOT_ALLOCATED, failure


@dataclass(slots=True)
class ReservedClaim:
    """A claim of the pod."""

    claim: api.ResourceClaim
    """As of the beginning of the cycle, or of the API server's response to a write."""
    begun: api.ResourceClaim
    """The identity of the claim while it is in flight."""
    allocation: api.AllocationResult | None = None
    """The allocation to write, None for an allocated claim."""
    special: bool = False
    """Whether this is the special claim for extended resources."""
    unsettled: bool = False
    """Whether the outcome of a write is unknown; its devices stay allocated until it is known."""
    group: api.ResourceClaimConsumerReference | None = None
    """The PodGroup that the claim is reserved for; None if it is reserved for the pod."""
    shared: bool = False
    """As in `PodClaim`."""

    def consumer(self, pod: fwk.Pod) -> api.ResourceClaimConsumerReference:
        """The entry of reservedFor."""
        return self.group or api.ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


class ClaimReservation:
    """The decision of Reserve, for PreBind and Unreserve."""

    __slots__ = ("claims", "mappings")

    def __init__(
        self, claims: tuple[ReservedClaim, ...], mappings: tuple[api.ContainerExtendedResourceRequest, ...] = ()
    ) -> None:
        self.claims = claims
        self.mappings = mappings
        """The requests of the special claim by container."""

    @classmethod
    def of(cls, claims: PodClaims, node_name: str) -> ClaimReservation | fwk.Status:
        """The allocations on the selected node."""
        reserved = tuple(
            ReservedClaim(item.claim, item.claim, special=item is claims.special, group=item.group, shared=item.shared)
            for item in claims
        )
        missing = [item for item in reserved if item.claim.status.allocation is None]
        if not missing:
            return cls(reserved)
        found = claims.allocations.get(node_name)
        if found is None or not found.results:
            # Extended resources in the node's allocatable leave the special claim empty.
            return cls(reserved) if all(item.special for item in missing) else NOT_ALLOCATED
        if len(found.results) != len(missing):
            have, want = len(found.results), len(missing)
            mismatch = f"have {have} allocations, {want} claims to allocate, want {want} claims"
            return failure(f"internal error, {mismatch}")
        for item, allocation in zip(missing, found.results, strict=True):
            if item.special and found.special is not None:
                if not found.special.spec.devices.requests:
                    continue  # The node's allocatable has all of them: there is no claim to write.
                item.claim = item.begun = found.special
            item.allocation = allocation
        return cls(reserved, found.mappings)

    def again(self) -> ClaimReservation:
        """The same reservation, after it was undone."""
        claims = (replace(item, claim=item.begun, unsettled=False) for item in self.claims)
        return ClaimReservation(tuple(claims), self.mappings)

    def begin(self, tracker: ClaimTracker, pod: fwk.Pod) -> None:
        """Mark the claims as in flight: their devices count as allocated."""
        for item in self.claims:
            if item.allocation is not None:
                tracker.take_off(item.begun, item.allocation, pod)

    def end(self, tracker: ClaimTracker) -> None:
        """Remove the claims from those in flight, except claims whose write succeeded or may have succeeded, and claims
        in flight for another member of the pod's group."""
        for item in self.claims:
            if not item.unsettled and item.allocation is not None:
                tracker.land(item.begun)

    def to_give_up(self, pod: fwk.Pod) -> list[ReservedClaim]:
        """Written claims, which must be unreserved if the pod is not bound. Claims of its group stay reserved."""
        return [
            item
            for item in self.claims
            if item.group is None
            and (is_written(item.claim) if item.special else is_reserved_for(item.claim, pod.uid))
            and (item.special or item.claim.status.allocation is not None)
        ]
