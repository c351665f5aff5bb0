"""Binding conditions: conditions that devices must report before the pod is bound.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from datetime import datetime

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.selectors import quoted
from stowplan.plugins.dynamic_resources.reasons import failure


def readiness(claim: api.ResourceClaim) -> bool | fwk.Status:
    """Whether all devices of an allocated claim are ready; an error status once a device failed."""
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
                details = f"reason={found.reason}, message={quoted(found.message)}"
                return failure(f"device binding failed: claim={claim.metadata.name}, {details}")
        if any(name not in conditions or conditions[name].status != "True" for name in result.binding_conditions):
            return False
    return True


def timed_out(claim: api.ResourceClaim, timeout: float, now: float) -> bool:
    """Whether the binding timeout of an allocated claim has passed."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    if not any(result.binding_conditions for result in allocation.devices.results):
        return False
    return datetime.fromisoformat(allocation.allocation_timestamp).timestamp() + timeout < now


def _conditions(claim: api.ResourceClaim, result: api.DeviceRequestAllocationResult) -> dict[str, api.Condition] | None:
    """The conditions of an allocated device by type; None if the driver reports none."""
    device = (result.driver, result.pool, result.device)
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == device:
            return {condition.type: condition for condition in reversed(status.conditions)}
    return None
