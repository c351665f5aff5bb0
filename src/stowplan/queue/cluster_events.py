"""Cluster events of a change to an object.

Upstream: pkg/scheduler/framework/events.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stowplan import api
from stowplan.api.quantity import parse
from stowplan.framework import Action, ClusterEvent, EventResource, Pod

ASSIGNED_POD_ADD = ClusterEvent(EventResource.AssignedPod, Action.Add)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.AssignedPod, Action.Delete)
UNSCHEDULABLE_POD_ADD = ClusterEvent(EventResource.UnschedulablePod, Action.Add)
UNSCHEDULABLE_POD_UPDATE = ClusterEvent(EventResource.UnschedulablePod, Action.Update)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.Wildcard, Action.All, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.Wildcard, Action.All, "ForceActivate")

_RESOURCES: dict[type, str] = {
    api.Node: EventResource.Node,
    api.PersistentVolume: EventResource.PersistentVolume,
    api.PersistentVolumeClaim: EventResource.PersistentVolumeClaim,
    api.CSINode: EventResource.CSINode,
    api.CSIDriver: EventResource.CSIDriver,
    api.VolumeAttachment: EventResource.VolumeAttachment,
    api.CSIStorageCapacity: EventResource.CSIStorageCapacity,
    api.StorageClass: EventResource.StorageClass,
    api.ResourceClaim: EventResource.ResourceClaim,
    api.ResourceSlice: EventResource.ResourceSlice,
    api.DeviceClass: EventResource.DeviceClass,
    api.PodGroup: EventResource.PodGroup,
    **{kind.struct: kind.event_resource for kind in api.KINDS.values() if kind.custom},
}

_EVENTS = {
    (kind, action): ClusterEvent(resource, action)
    for kind, resource in _RESOURCES.items()
    for action in (Action.Add, Action.Update, Action.Delete)
}


def event_of(kind: type, action: Action) -> ClusterEvent | None:
    """The event of adding, updating or deleting an object other than a Pod; None if plugins cannot register for it.

    `node_events` refines updates of nodes.
    """
    return _EVENTS.get((kind, action))


def node_events(old: api.Node, new: api.Node) -> list[ClusterEvent]:
    """One event for each aspect of the node that changed. Uncordoning counts as a change of taints."""
    return [event for changed, event in _NODE_CHANGES if changed(old, new)]


def pod_events(old: Pod, new: Pod, assigned: bool) -> list[ClusterEvent]:
    """One event for each aspect of the pod that changed; the general update event if none of them did."""
    if old.template is new.template and old.labels == new.labels and old.used == new.used:
        return [_POD_UPDATES[assigned]]
    events = [events[assigned] for changed, events in _POD_CHANGES if changed(old, new)]
    return events or [_POD_UPDATES[assigned]]


def gives_up_nomination(old: Pod, new: Pod | None) -> bool:
    """Whether a pending pod lost its nomination, by an update or because it was deleted.

    For pods of the same or lower priority this is equivalent to the deletion of an assigned pod.
    """
    return old.nominated_node_name not in ("", new.nominated_node_name if new is not None else "")


def _same_amounts(old: api.ResourceList, new: api.ResourceList) -> bool:
    return old == new or {name: parse(q) for name, q in old.items()} == {name: parse(q) for name, q in new.items()}


def _conditions(node: api.Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _requests(pod: Pod) -> Mapping[str, int]:
    return pod.template.requests if pod.used is None else pod.used[0]


def _scaled_down(old: Pod, new: Pod) -> bool:
    now = _requests(new)
    return any(name not in now or amount > now[name] for name, amount in _requests(old).items())


def _on_node(action: Action) -> ClusterEvent:
    return ClusterEvent(EventResource.Node, action)


_NODE_CHANGES: tuple[tuple[Callable[[api.Node, api.Node], bool], ClusterEvent], ...] = (
    (lambda old, new: old.spec.unschedulable and not new.spec.unschedulable, _on_node(Action.UpdateNodeTaint)),
    (
        lambda old, new: not _same_amounts(old.status.allocatable, new.status.allocatable),
        _on_node(Action.UpdateNodeAllocatable),
    ),
    (lambda old, new: old.metadata.labels != new.metadata.labels, _on_node(Action.UpdateNodeLabel)),
    (lambda old, new: old.spec.taints != new.spec.taints, _on_node(Action.UpdateNodeTaint)),
    (lambda old, new: _conditions(old) != _conditions(new), _on_node(Action.UpdateNodeCondition)),
    (lambda old, new: old.metadata.annotations != new.metadata.annotations, _on_node(Action.UpdateNodeAnnotation)),
    (
        lambda old, new: old.status.declared_features != new.status.declared_features,
        _on_node(Action.UpdateNodeDeclaredFeature),
    ),
)


def _on_pod(action: Action) -> tuple[ClusterEvent, ClusterEvent]:
    """The events of an unscheduled and of an assigned pod."""
    return ClusterEvent(EventResource.UnschedulablePod, action), ClusterEvent(EventResource.AssignedPod, action)


_POD_UPDATES = _on_pod(Action.Update)

_POD_CHANGES: tuple[tuple[Callable[[Pod, Pod], bool], tuple[ClusterEvent, ClusterEvent]], ...] = (
    (lambda old, new: old.labels != new.labels, _on_pod(Action.UpdatePodLabel)),
    (_scaled_down, _on_pod(Action.UpdatePodScaleDown)),
    (
        lambda old, new: bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
        _on_pod(Action.UpdatePodSchedulingGatesEliminated),
    ),
    (
        # Tolerations of a pod can only be added.
        lambda old, new: len(old.spec.tolerations) != len(new.spec.tolerations),
        _on_pod(Action.UpdatePodToleration),
    ),
    (
        lambda old, new: old.template.claim_statuses != new.template.claim_statuses,
        _on_pod(Action.UpdatePodGeneratedResourceClaim),
    ),
)
