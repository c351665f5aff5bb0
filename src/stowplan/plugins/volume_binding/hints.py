"""Queueing hints: events that may make a pod schedulable that VolumeBinding rejected.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from __future__ import annotations

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache.volumes import uses_claim
from stowplan.plugins.volume_binding.migration import migrated_plugins
from stowplan.plugins.volume_binding.provisioning import size_limit


def after_storage_class_event(pod: fwk.Pod, old: api.StorageClass | None, new: api.StorageClass) -> fwk.QueueingHint:
    return _queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def after_claim_event(
    pod: fwk.Pod, old: api.PersistentVolumeClaim | None, new: api.PersistentVolumeClaim
) -> fwk.QueueingHint:
    return _queue_if(uses_claim(pod, new))


def after_csi_node_event(pod: fwk.Pod, old: api.CSINode | None, new: api.CSINode) -> fwk.QueueingHint:
    return _queue_if(old is None or migrated_plugins(old) != migrated_plugins(new))


def after_csi_driver_update(pod: fwk.Pod, old: api.CSIDriver, new: api.CSIDriver) -> fwk.QueueingHint:
    """Queue if a driver stops tracking storage capacity. As upstream, compares only inline CSI volumes."""
    stopped = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    inline = (volume.csi for volume in pod.spec.volumes if volume.csi is not None)
    return _queue_if(stopped and any(source.driver == new.metadata.name for source in inline))


def after_capacity_event(
    pod: fwk.Pod, old: api.CSIStorageCapacity | None, new: api.CSIStorageCapacity
) -> fwk.QueueingHint:
    if old is None:
        return fwk.QueueingHint.Queue
    before, now = size_limit(old), size_limit(new)
    return _queue_if(now is not None and (before is None or now > before))


def _queue_if(queue: bool) -> fwk.QueueingHint:
    return fwk.QueueingHint.Queue if queue else fwk.QueueingHint.QueueSkip


EVENTS: tuple[fwk.ClusterEventWithHint, ...] = (
    fwk.on(fwk.EventResource.StorageClass, fwk.Action.Add | fwk.Action.Update, after_storage_class_event),
    fwk.on(fwk.EventResource.PersistentVolumeClaim, fwk.Action.Add | fwk.Action.Update, after_claim_event),
    fwk.on(fwk.EventResource.PersistentVolume, fwk.Action.Add | fwk.Action.Update),
    fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeLabel),
    fwk.on(fwk.EventResource.CSINode, fwk.Action.Add | fwk.Action.Update, after_csi_node_event),
    fwk.on(fwk.EventResource.CSIDriver, fwk.Action.Update, after_csi_driver_update),
    fwk.on(fwk.EventResource.CSIStorageCapacity, fwk.Action.Add | fwk.Action.Update, after_capacity_event),
)
