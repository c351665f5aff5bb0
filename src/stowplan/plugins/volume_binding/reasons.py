"""Reasons and statuses of the plugin.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from __future__ import annotations

from functools import lru_cache

from stowplan import framework as fwk

NAME = "VolumeBinding"

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

UNBOUND_IMMEDIATE = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "pod has unbound immediate PersistentVolumeClaims", plugin=NAME
)

_ORDER = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING)


@lru_cache
def rejection(*reasons: str | None) -> fwk.Status:
    """The status of a rejected node, with the reasons in kube-scheduler's order."""
    return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, *(r for r in _ORDER if r in reasons), plugin=NAME)


def failure(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.Error, text, plugin=NAME)
