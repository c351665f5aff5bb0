"""Reasons and statuses of the plugin, with kube-scheduler's texts."""

from __future__ import annotations

from stowplan.framework import Code, Status

NAME = "DynamicResources"


def unresolvable(text: str) -> Status:
    return Status(Code.UnschedulableAndUnresolvable, text, plugin=NAME)


def failure(text: str) -> Status:
    return Status(Code.Error, text, plugin=NAME)


CANNOT_ALLOCATE = unresolvable("cannot allocate all claims")
OUT_OF_REACH = unresolvable("resourceclaim not available on the node")
STALE = unresolvable("cannot schedule extended resource claim")
NOT_OFFERED = unresolvable("cannot fit resource")

NO_CLAIMS = Status(Code.Unschedulable, "no new claims to deallocate", plugin=NAME)
DEALLOCATED = Status(Code.Unschedulable, "deallocation of ResourceClaim completed", plugin=NAME)
DELETED = Status(Code.Unschedulable, "deletion of ResourceClaim completed", plugin=NAME)
NOTHING_HELPS = Status(Code.Unschedulable, "still not schedulable", plugin=NAME)

NO_STATE = failure("not found")
NOT_ALLOCATED = failure("claim allocation not found for node")
