"""PreBind: writes allocation and reservedFor of the claims, then waits for their devices.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (bindClaim)
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan import framework as fwk
from stowplan.api import codec
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.binding_wait import Readiness
from stowplan.plugins.dynamic_resources.claim_writes import (
    FINALIZER,
    KIND,
    UNSETTLED,
    patch_status,
    read,
    repeatedly,
    set_finalizers,
    within,
)
from stowplan.plugins.dynamic_resources.claims import is_reserved_for, key
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reasons import failure
from stowplan.plugins.dynamic_resources.reserve import ClaimReservation, ReservedClaim

_FIRST_POLL_SECONDS, _MAX_POLL_SECONDS, _POLL_TIMEOUT_SECONDS = 0.01, 1.0, 120.0
"""Of the wait until a watch delivers a claim that was created here."""

_SETTLE_INTERVAL_SECONDS = 1.0


class ClaimWriter:
    """Writes reservations. Uses patches, since the structs have only the fields that are read."""

    def __init__(self, tracker: ClaimTracker, handle: fwk.Handle, timeout: float, clock: Callable[[], float]) -> None:
        self._tracker = tracker
        self._handle = handle
        self._clock = clock
        self._readiness = Readiness(tracker, handle, timeout, clock)

    async def carry_out(self, reservation: ClaimReservation, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        for item in reservation.claims:
            if not is_reserved_for(item.claim, item.consumer(pod).uid):
                problem = await self._bind(item, reservation, pod)
                if problem is not None:
                    return failure(problem.message)
        return await self._readiness.wait(reservation, pod, node_name)

    async def _bind(self, item: ReservedClaim, reservation: ClaimReservation, pod: fwk.Pod) -> fwk.Failure | None:
        if item.shared:
            return fwk.Failure(f"claim {key(item.claim)} got allocated elsewhere in the meantime")
        if item.special and item.allocation is None and not item.claim.spec.devices.requests:
            return None
        if item.allocation is None and self._tracker.pending(item.claim) is not None:
            await self._until_landed(item)
        try:
            problem = await self._write(item, pod)
        except fwk.CancelledError:
            self._unsettle(item, pod)
            raise
        if problem is not None and problem.reason in UNSETTLED:
            self._unsettle(item, pod)
        elif problem is None:
            await self._make_known(item)
        if not item.unsettled:
            self._tracker.land(item.begun)
        if problem is None and item.special:
            problem = await _tell_pod(pod, item.claim, reservation)
        return problem

    async def _until_landed(self, item: ReservedClaim) -> None:
        """Another member of the pod's group writes the allocation."""
        waited, pause = 0.0, _FIRST_POLL_SECONDS
        while self._tracker.pending(item.claim) is not None and waited < _POLL_TIMEOUT_SECONDS:
            await fwk.Sleep(pause)
            waited += pause
            pause = min(2 * pause, _MAX_POLL_SECONDS)
        metadata = item.claim.metadata
        item.claim = self._tracker.get(metadata.name, metadata.namespace) or item.claim

    async def _write(self, item: ReservedClaim, pod: fwk.Pod) -> fwk.Failure | None:
        """Create the claim if necessary, write its allocation, and reserve it for the pod."""
        if item.special and not is_written(item.claim):
            made = await fwk.Write("create", KIND, _to_create(item.claim))
            outcome = "failure" if isinstance(made, fwk.Failure) else "success"
            self._handle.measured("resourceclaim_creates_total", (outcome,))
            if isinstance(made, fwk.Failure):
                return within(made, f"create claim for extended resources {item.claim.metadata.namespace}/")
            item.claim = made

        async def change(claim: api.ResourceClaim) -> Any:
            return await self._reserve(claim, item.allocation, item.consumer(pod))

        after_conflict = f"get updated claim {key(item.claim)} after conflict"
        outcome = await repeatedly(item.claim, change, after_conflict)
        if isinstance(outcome, fwk.Failure):
            return outcome
        item.claim = outcome
        return None

    async def _reserve(
        self,
        claim: api.ResourceClaim,
        allocation: api.AllocationResult | None,
        consumer: api.ResourceClaimConsumerReference,
    ) -> Any:
        name = key(claim)
        if claim.metadata.deletion_timestamp is not None:
            return fwk.Failure(f"claim {name} got deleted in the meantime")
        if is_reserved_for(claim, consumer.uid) and claim.status.allocation is not None:
            return claim  # Only the response to the write was lost, or another member of the group wrote it.
        if allocation is not None and claim.status.allocation is not None:
            return fwk.Failure(f"claim {name} got allocated elsewhere in the meantime")
        if allocation is None and claim.status.allocation is None:
            return fwk.Failure(f"claim {name} got deallocated elsewhere in the meantime")
        if allocation is not None and FINALIZER not in claim.metadata.finalizers:
            protected = await set_finalizers(claim, [*claim.metadata.finalizers, FINALIZER])
            if isinstance(protected, fwk.Failure):
                return within(protected, f"add finalizer to claim {name}")
            claim = protected
        outcome = await patch_status(claim, self._changes(claim, allocation, consumer))
        if isinstance(outcome, fwk.Failure):
            what = "reservation" if allocation is None else "allocation and reservation"
            return within(outcome, f"add {what} to claim {name}")
        return outcome

    def _changes(
        self,
        claim: api.ResourceClaim,
        allocation: api.AllocationResult | None,
        consumer: api.ResourceClaimConsumerReference,
    ) -> dict[str, Any]:
        changes: dict[str, Any] = {"reservedFor": codec.builtins((*claim.status.reserved_for, consumer))}
        now = datetime.fromtimestamp(int(self._clock()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if allocation is not None:
            changes["allocation"] = {"allocationTimestamp": now, **codec.builtins(allocation)}
        elif claim.status.allocation is not None and claim.status.allocation.allocation_timestamp is None:
            changes["allocation"] = {"allocationTimestamp": now}
        return changes

    async def _make_known(self, item: ReservedClaim) -> None:
        """Assume the written claim before it stops being in flight."""
        known = self._tracker.assume(item.claim)
        waited, pause = 0.0, _FIRST_POLL_SECONDS
        while item.special and not known and waited < _POLL_TIMEOUT_SECONDS:
            await fwk.Sleep(pause)
            waited += pause
            pause = min(2 * pause, _MAX_POLL_SECONDS)
            seen = self._tracker.get(item.claim.metadata.name, item.claim.metadata.namespace)
            known = seen is not None and (self._tracker.assume(item.claim) or seen.status.allocation is not None)

    def _unsettle(self, item: ReservedClaim, pod: fwk.Pod) -> None:
        item.unsettled = item.allocation is not None
        if item.unsettled:
            self._handle.start(self._settle(item, pod))

    async def _settle(self, item: ReservedClaim, pod: fwk.Pod) -> None:
        """Find out whether a claim was written. Its devices stay allocated until then."""
        latest: Any = fwk.Failure("")
        while isinstance(latest, fwk.Failure) and latest.reason != "NotFound" and is_written(item.claim):
            await fwk.Sleep(_SETTLE_INTERVAL_SECONDS)
            latest = await read(item.claim)
        if not isinstance(latest, fwk.Failure):
            self._tracker.assume(latest)
        self._tracker.land(item.begun)
        item.unsettled = False
        self._handle.activate({pod.key: pod})


def _to_create(claim: api.ResourceClaim) -> api.ResourceClaim:
    return replace(claim, metadata=replace(claim.metadata, name="", uid=""), status=api.ResourceClaimStatus())


async def _tell_pod(pod: fwk.Pod, claim: api.ResourceClaim, reservation: ClaimReservation) -> fwk.Failure | None:
    """Write the special claim into the pod's status (extendedResourceClaimStatus)."""
    if not reservation.mappings:
        message = f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
        return fwk.Failure(message)
    status = api.PodExtendedResourceClaimStatus(
        request_mappings=reservation.mappings, resource_claim_name=claim.metadata.name
    )
    item = api.Pod(metadata=api.ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid))
    changes = {"status": {"extendedResourceClaimStatus": codec.builtins(status)}}
    outcome = await fwk.Write("patch", "Pod", item, changes, subresource="status")
    if isinstance(outcome, fwk.Failure):
        return within(outcome, f"update pod {pod.key} ExtendedResourceClaimStatus")
    return None
