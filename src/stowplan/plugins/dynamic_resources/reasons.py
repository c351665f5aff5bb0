"""Reasons and statuses of the plugin, with kube-scheduler's texts."""

from __future__ import annotations

from stowplan import framework as fwk

NAME = "DynamicResources"


def unresolvable(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, text, plugin=NAME)


def failure(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.Error, text, plugin=NAME)


CANNOT_ALLOCATE = unresolvable("cannot allocate all claims")
OUT_OF_REACH = unresolvable("resourceclaim not available on the node")
STALE = unresolvable("cannot schedule extended resource claim")
NOT_SERVED = unresolvable("the API server does not serve resource.k8s.io, so that its claims cannot be allocated")
"""Not a text of kube-scheduler, which does not start without the API."""
NOT_OFFERED = unresolvable("cannot fit resource")

NO_CLAIMS = fwk.Status(fwk.Code.Unschedulable, "no new claims to deallocate", plugin=NAME)
DEALLOCATED = fwk.Status(fwk.Code.Unschedulable, "deallocation of ResourceClaim completed", plugin=NAME)
DELETED = fwk.Status(fwk.Code.Unschedulable, "deletion of ResourceClaim completed", plugin=NAME)
UNRESERVED_FOR_GROUP = fwk.Status(fwk.Code.Unschedulable, "ResourceClaim unreserved for PodGroup", plugin=NAME)
NOTHING_HELPS = fwk.Status(fwk.Code.Unschedulable, "still not schedulable", plugin=NAME)

NO_STATE = failure("not found")
NOT_ALLOCATED = failure("claim allocation not found for node")
