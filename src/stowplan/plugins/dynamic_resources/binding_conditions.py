"""Devices that must report conditions before a pod may be bound: those of an allocation, and what became of them."""

from __future__ import annotations

from datetime import datetime

from stowplan import api
from stowplan.api.selectors import quoted
from stowplan.framework import Status
from stowplan.plugins.dynamic_resources.reasons import failure


def readiness(claim: api.ResourceClaim) -> bool | Status:
    """Whether all devices of an allocated claim are ready; an error once one of them has failed."""
    allocation = claim.status.allocation
    for result in () if allocation is None else allocation.devices.results:
        if not result.binding_conditions:
            continue
        conditions = _conditions(claim, result)
        if conditions is None:
            return False
        for name in result.binding_failure_conditions:
            found = conditions.get(name)
            if found is not None and found.status == "True":
                told = f"reason={found.reason}, message={quoted(found.message)}"
                return failure(f"device binding failed: claim={claim.metadata.name}, {told}")
        if any(name not in conditions or conditions[name].status != "True" for name in result.binding_conditions):
            return False
    return True


def timed_out(claim: api.ResourceClaim, timeout: float, now: float) -> bool:
    """Whether the devices of an allocated claim had their time to get ready."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    if not any(result.binding_conditions for result in allocation.devices.results):
        return False
    return datetime.fromisoformat(allocation.allocation_timestamp).timestamp() + timeout < now


def _conditions(claim: api.ResourceClaim, result: api.DeviceRequestAllocationResult) -> dict[str, api.Condition] | None:
    """What the driver reports of an allocated device, by type of condition; None where it reports nothing."""
    device = (result.driver, result.pool, result.device)
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == device:
            return {condition.type: condition for condition in reversed(status.conditions)}
    return None
