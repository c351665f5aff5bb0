"""PreBind: waits until the devices of a pod are ready.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isPodReadyForBinding)
"""

from __future__ import annotations

from collections.abc import Callable

from stowplan import api
from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.assume_cache import ClaimTracker
from stowplan.plugins.dynamic_resources.binding_conditions import readiness, timed_out
from stowplan.plugins.dynamic_resources.claims import key
from stowplan.plugins.dynamic_resources.extended_resources import is_written
from stowplan.plugins.dynamic_resources.reasons import failure
from stowplan.plugins.dynamic_resources.reserve import ClaimReservation

POLL_SECONDS = 5.0
"""Between two checks of the binding conditions."""

_OUTCOMES = {"device binding timeout": "timeout", "device binding failed": "failure"}
"""Metric label of an outcome, by the beginning of its message; other messages are `error`."""


class Readiness:
    """Polls claims, and reports the outcome in an event and in metrics."""

    def __init__(self, tracker: ClaimTracker, handle: fwk.Handle, timeout: float, clock: Callable[[], float]) -> None:
        self._tracker = tracker
        self._handle = handle
        self._timeout = timeout
        self._clock = clock

    async def wait(self, reservation: ClaimReservation, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        if not any(_has_conditions(item.claim) for item in reservation.claims):
            return None
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.emit(fwk.EmitEvent(pod, "Normal", "BindingConditionsPending", "Scheduling", note))
        began = self._clock()
        status = await self._until_ready(reservation)
        self._measure(reservation, status, self._clock() - began)
        return status

    async def _until_ready(self, reservation: ClaimReservation) -> fwk.Status | None:
        """Wait until the devices are ready, one failed, or the timeout has passed."""
        waited = 0.0
        while waited < self._timeout:
            ready = self._ready(reservation)
            if isinstance(ready, fwk.Status):
                return ready
            if ready:
                return None
            await fwk.Sleep(min(POLL_SECONDS, self._timeout - waited))
            waited += POLL_SECONDS
        return failure("device binding timeout: context deadline exceeded")

    def _measure(self, reservation: ClaimReservation, status: fwk.Status | None, seconds: float) -> None:
        message = "" if status is None else status.message
        failed = next((label for text, label in _OUTCOMES.items() if message.startswith(text)), "error")
        outcome = "success" if status is None else failed
        for item in reservation.claims:
            allocation = item.claim.status.allocation
            for result in () if allocation is None else allocation.devices.results:
                labels = (self._handle.profile_name, result.driver, outcome)
                self._handle.measured("dra_bindingconditions_wait_duration_seconds", labels, seconds)
                if result.binding_conditions:
                    self._handle.measured("dra_bindingconditions_allocations_total", labels)

    def _ready(self, reservation: ClaimReservation) -> bool | fwk.Status:
        """Whether all devices are ready; an error status once one of them failed."""
        for item in reservation.claims:
            if not is_written(item.claim):
                continue
            metadata = item.claim.metadata
            claim = self._tracker.get(metadata.name, metadata.namespace)
            if claim is None:
                return failure(f'could not find ResourceClaim "{key(item.claim)}"')
            item.claim = claim
            ready = readiness(claim)
            if isinstance(ready, fwk.Status):
                return ready
            if not ready:
                late = timed_out(claim, self._timeout, self._clock())
                return failure(f"device binding timeout: claim={metadata.name}") if late else False
        return True


def _has_conditions(claim: api.ResourceClaim) -> bool:
    allocation = claim.status.allocation
    return allocation is not None and any(result.binding_conditions for result in allocation.devices.results)
