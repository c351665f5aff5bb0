"""Queueing hints: events that may make a pod schedulable that VolumeBinding rejected.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from __future__ import annotations

from stowplan import api
from stowplan.cache.volumes import uses_claim
from stowplan.framework import Action, ClusterEventWithHint, EventResource, Pod, QueueingHint, on
from stowplan.plugins.volume_binding.migration import migrated_plugins
from stowplan.plugins.volume_binding.provisioning import size_limit


def after_storage_class_event(pod: Pod, old: api.StorageClass | None, new: api.StorageClass) -> QueueingHint:
    return _queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def after_claim_event(pod: Pod, old: api.PersistentVolumeClaim | None, new: api.PersistentVolumeClaim) -> QueueingHint:
    return _queue_if(uses_claim(pod, new))


def after_csi_node_event(pod: Pod, old: api.CSINode | None, new: api.CSINode) -> QueueingHint:
    return _queue_if(old is None or migrated_plugins(old) != migrated_plugins(new))


def after_csi_driver_update(pod: Pod, old: api.CSIDriver, new: api.CSIDriver) -> QueueingHint:
    """Queue if a driver stops tracking storage capacity. As upstream, compares only inline CSI volumes."""
    stopped = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    inline = (volume.csi for volume in pod.spec.volumes if volume.csi is not None)
    return _queue_if(stopped and any(source.driver == new.metadata.name for source in inline))


def after_capacity_event(pod: Pod, old: api.CSIStorageCapacity | None, new: api.CSIStorageCapacity) -> QueueingHint:
    if old is None:
        return QueueingHint.Queue
    before, now = size_limit(old), size_limit(new)
    return _queue_if(now is not None and (before is None or now > before))


def _queue_if(queue: bool) -> QueueingHint:
    return QueueingHint.Queue if queue else QueueingHint.QueueSkip


EVENTS: tuple[ClusterEventWithHint, ...] = (
    on(EventResource.StorageClass, Action.Add | Action.Update, after_storage_class_event),
    on(EventResource.PersistentVolumeClaim, Action.Add | Action.Update, after_claim_event),
    on(EventResource.PersistentVolume, Action.Add | Action.Update),
    on(EventResource.Node, Action.Add | Action.UpdateNodeLabel),
    on(EventResource.CSINode, Action.Add | Action.Update, after_csi_node_event),
    on(EventResource.CSIDriver, Action.Update, after_csi_driver_update),
    on(EventResource.CSIStorageCapacity, Action.Add | Action.Update, after_capacity_event),
)
