"""Taking back what claims got: for a pod that is not bound after all, and for one that devices elsewhere would help."""

from __future__ import annotations

from typing import Any

from stowplan import api, logs
from stowplan.api import codec
from stowplan.framework import Failure, Handle, Pod, Sleep
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.claim_writes import delete, patch_status, repeatedly
from stowplan.plugins.dynamic_resources.claims import PodClaims, key
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reserve import ClaimReservation

log = logs.get(__name__)

_PAUSE = 1.0
"""Seconds until a pod is tried again for which a claim could not be freed."""


class ClaimReleaser:
    """Writes in the background: no attempt waits for them, and none is told what came of them."""

    def __init__(self, tracker: ClaimTracker, handle: Handle) -> None:
        self._tracker = tracker
        self._handle = handle

    def unreserve(self, reservation: ClaimReservation, pod: Pod) -> None:
        """The pod is not bound after all: others may use its claims, and those made for it go."""
        reservation.end(self._tracker)
        for item in reservation.to_give_up(pod):
            steps = self._delete(item.claim) if item.special else self._unreserve(item.claim, pod)
            self._handle.start(steps)

    def blocking(self, claims: PodClaims, pod: Pod) -> api.ResourceClaim | None:
        """An allocated claim that keeps the pod from some node and that nobody else uses."""
        for index, item in enumerate(claims):
            if index in claims.unavailable and item is not claims.special:
                consumers = {consumer.uid for consumer in item.claim.status.reserved_for}
                if consumers <= {pod.uid}:
                    return item.claim
        return None

    def deallocate(self, claim: api.ResourceClaim, pod: Pod) -> None:
        """Take the devices of a claim away, so that it may get others where the pod can go."""
        self._handle.start(self._deallocate(claim, pod))

    def drop_stale(self, claims: PodClaims, pod: Pod) -> bool:
        """Delete the claim for extended resources that an earlier attempt left behind, if it did."""
        if claims.special is None or not is_written(claims.special.claim):
            return False
        self._handle.start(self._delete(claims.special.claim, pod))
        return True

    async def _unreserve(self, claim: api.ResourceClaim, pod: Pod) -> None:
        async def change(latest: api.ResourceClaim) -> Any:
            if latest.metadata.uid != claim.metadata.uid:
                return Failure("", "NotFound")
            left = [consumer for consumer in latest.status.reserved_for if consumer.uid != pod.uid]
            if len(left) == len(latest.status.reserved_for):
                return latest
            return await patch_status(latest, {"reservedFor": codec.builtins(left) or None})

        outcome = await repeatedly(claim, change, "get updated claim")
        if not isinstance(outcome, Failure):
            self._tracker.assume(outcome)
        elif outcome.reason != "NotFound":
            log.error(outcome.message, "unreserve", resourceclaim=logs.ref(key(claim)), pod=logs.ref(pod))

    async def _deallocate(self, claim: api.ResourceClaim, pod: Pod) -> None:
        outcome = await patch_status(claim, {"allocation": None, "reservedFor": None, "devices": None})
        if not isinstance(outcome, Failure):
            self._tracker.assume(outcome)
        else:
            log.error(outcome.message, "deallocate", resourceclaim=logs.ref(key(claim)), pod=logs.ref(pod))
            await self._try_again(pod)

    async def _delete(self, claim: api.ResourceClaim, pod: Pod | None = None) -> None:
        """`pod` is tried again once that is done."""
        problem = await delete(claim)
        if problem is not None:
            log.error(problem.message, "delete", resourceclaim=logs.ref(key(claim)))
        if pod is not None:
            await self._try_again(pod)

    async def _try_again(self, pod: Pod) -> None:
        """No event may follow that would wake the pod."""
        await Sleep(_PAUSE)
        self._handle.activate({pod.key: pod})
