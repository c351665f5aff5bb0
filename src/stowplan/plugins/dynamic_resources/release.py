"""Deallocation and unreservation of claims: after Unreserve, and in PostFilter.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PostFilter, Unreserve)
"""

from __future__ import annotations

from typing import Any

from stowplan import api, logs
from stowplan import framework as fwk
from stowplan.api import codec
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.claim_writes import delete, patch_status, repeatedly
from stowplan.plugins.dynamic_resources.claims import PodClaim, PodClaims, is_reserved_for, key
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reserve import ClaimReservation

log = logs.get(__name__)

_RETRY_SECONDS = 1.0
"""Seconds until a pod is retried whose claim could not be deallocated."""


class ClaimReleaser:
    """Writes in the background. Attempts neither wait for the writes nor receive their outcome."""

    def __init__(self, tracker: ClaimTracker, handle: fwk.Handle) -> None:
        self._tracker = tracker
        self._handle = handle

    def unreserve(self, reservation: ClaimReservation, pod: fwk.Pod) -> None:
        """Unreserve the claims of a pod that is not bound, and delete those created for it."""
        reservation.end(self._tracker)
        for item in reservation.to_give_up(pod):
            steps = self._delete(item.claim) if item.special else self._unreserve(item.claim, pod)
            self._handle.start(steps)

    def blocking(self, claims: PodClaims, pod: fwk.Pod) -> api.ResourceClaim | None:
        """An allocated claim that makes a node unavailable and is used by no other pod."""
        for index, item in enumerate(claims):
            if self._tracker.pending(item.claim) is not None:
                continue  # Another member of the pod's group is about to use it.
            if index in claims.unavailable and item is not claims.special:
                consumers = {consumer.uid for consumer in item.claim.status.reserved_for}
                if consumers <= {pod.uid}:
                    return item.claim
        return None

    def reserved_in_vain(self, claims: PodClaims) -> PodClaim | None:
        """An allocated claim that is reserved for the pod's group."""
        for item in claims:
            is_allocated = item.claim.status.allocation is not None
            if item.group is not None and is_allocated and is_reserved_for(item.claim, item.group.uid):
                return item
        return None

    def release_group(self, item: PodClaim, pod: fwk.Pod) -> None:
        """Remove the reservation for the pod's group, so that the claim can be deallocated."""
        if item.group is not None:
            self._handle.start(self._unreserve(item.claim, pod, item.group.uid))

    def deallocate(self, claim: api.ResourceClaim, pod: fwk.Pod) -> None:
        """Deallocate a claim, so that it can be allocated on another node."""
        self._handle.start(self._deallocate(claim, pod))

    def drop_stale(self, claims: PodClaims, pod: fwk.Pod) -> bool:
        """Delete the special claim of an earlier attempt, if there is one."""
        if claims.special is None or not is_written(claims.special.claim):
            return False
        self._handle.start(self._delete(claims.special.claim, pod))
        return True

    async def _unreserve(self, claim: api.ResourceClaim, pod: fwk.Pod, uid: str = "") -> None:
        """`uid` is that of the consumer, by default the pod's."""

        async def change(latest: api.ResourceClaim) -> Any:
            if latest.metadata.uid != claim.metadata.uid:
                return fwk.Failure("", "NotFound")
            left = [consumer for consumer in latest.status.reserved_for if consumer.uid != (uid or pod.uid)]
            if len(left) == len(latest.status.reserved_for):
                return latest
            return await patch_status(latest, {"reservedFor": codec.builtins(left) or None})

        outcome = await repeatedly(claim, change, "get updated claim")
        if not isinstance(outcome, fwk.Failure):
            self._tracker.assume(outcome)
        elif outcome.reason != "NotFound":
            log.error(outcome.message, "unreserve", resourceclaim=logs.ref(key(claim)), pod=logs.ref(pod))

    async def _deallocate(self, claim: api.ResourceClaim, pod: fwk.Pod) -> None:
        outcome = await patch_status(claim, {"allocation": None, "reservedFor": None, "devices": None})
        if not isinstance(outcome, fwk.Failure):
            self._tracker.assume(outcome)
        else:
            log.error(outcome.message, "deallocate", resourceclaim=logs.ref(key(claim)), pod=logs.ref(pod))
            await self._try_again(pod)

    async def _delete(self, claim: api.ResourceClaim, pod: fwk.Pod | None = None) -> None:
        """`pod` is retried afterwards."""
        problem = await delete(claim)
        if problem is not None:
            log.error(problem.message, "delete", resourceclaim=logs.ref(key(claim)))
        if pod is not None:
            await self._try_again(pod)

    async def _try_again(self, pod: fwk.Pod) -> None:
        """Queue the pod: there may be no event that does it."""
        await fwk.Sleep(_RETRY_SECONDS)
        self._handle.activate({pod.key: pod})
