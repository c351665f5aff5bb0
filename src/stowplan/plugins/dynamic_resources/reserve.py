"""Reserve and Unreserve: the claims of a pod that is on its way to a node, and what is to be given to them."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan import api
from stowplan.framework import Pod, Status
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.claims import PodClaims, is_reserved_for
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reasons import NOT_ALLOCATED, failure


@dataclass(slots=True)
class ReservedClaim:
    """One of the pod's claims."""

    claim: api.ResourceClaim
    """As it was when the cycle began, or as the API server has it since it was written."""
    begun: api.ResourceClaim
    """As it was when the cycle began; in flight it is known by this."""
    allocation: api.AllocationResult | None = None
    """What it is to be given."""
    special: bool = False
    """Stands for extended resources."""
    unsettled: bool = False
    """Whether it was written is not known yet; until it is, nobody else may have its devices."""


class ClaimReservation:
    """What Reserve decided for a pod, carried on to PreBind and Unreserve."""

    __slots__ = ("claims", "mappings")

    def __init__(
        self, claims: tuple[ReservedClaim, ...], mappings: tuple[api.ContainerExtendedResourceRequest, ...] = ()
    ) -> None:
        self.claims = claims
        self.mappings = mappings
        """Which request of the special claim serves which container."""

    @classmethod
    def of(cls, claims: PodClaims, node_name: str) -> ClaimReservation | Status:
        """What was found for the node that was chosen."""
        reserved = tuple(ReservedClaim(item.claim, item.claim, special=item is claims.special) for item in claims)
        missing = [item for item in reserved if item.claim.status.allocation is None]
        if not missing:
            return cls(reserved)
        found = claims.allocations.get(node_name)
        if found is None or not found.results:
            # An extended resource that the node offers as such leaves the special claim empty.
            return cls(reserved) if all(item.special for item in missing) else NOT_ALLOCATED
        if len(found.results) != len(missing):
            have, want = len(found.results), len(missing)
            told = f"have {have} allocations, {want} claims to allocate, want {want} claims"
            return failure(f"internal error, {told}")
        for item, allocation in zip(missing, found.results, strict=True):
            if item.special and found.special is not None:
                if not found.special.spec.devices.requests:
                    continue  # The node offers all of them as such: there is nothing to be written.
                item.claim = item.begun = found.special
            item.allocation = allocation
        return cls(reserved, found.mappings)

    def begin(self, tracker: ClaimTracker) -> None:
        """From now on nobody else gets the devices."""
        for item in self.claims:
            if item.allocation is not None:
                tracker.take_off(item.begun, item.allocation)

    def end(self, tracker: ClaimTracker) -> None:
        """Others may have the devices, unless they were or may have been written."""
        for item in self.claims:
            if not item.unsettled:
                tracker.land(item.begun)

    def to_give_up(self, pod: Pod) -> list[ReservedClaim]:
        """Claims that the API server has and that must not stay reserved for a pod which is not bound after all."""
        return [
            item
            for item in self.claims
            if (is_written(item.claim) if item.special else is_reserved_for(item.claim, pod))
            and (item.special or item.claim.status.allocation is not None)
        ]
