"""Cluster events and queueing hints: which changes of the cluster can make a rejected pod schedulable.

Upstream: k8s.io/kube-scheduler/framework/types.go (ClusterEvent, QueueingHint)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stowplan.framework.pod import Pod


class EventResource(StrEnum):
    """Kinds whose changes reach the queue. Custom resources are plain strings such as `foos.v1.example.com`."""

    Pod = "Pod"
    AssignedPod = "AssignedPod"
    UnschedulablePod = "UnschedulablePod"
    Node = "Node"
    PersistentVolume = "PersistentVolume"
    PersistentVolumeClaim = "PersistentVolumeClaim"
    CSINode = "storage.k8s.io/CSINode"
    CSIDriver = "storage.k8s.io/CSIDriver"
    VolumeAttachment = "storage.k8s.io/VolumeAttachment"
    CSIStorageCapacity = "storage.k8s.io/CSIStorageCapacity"
    StorageClass = "storage.k8s.io/StorageClass"
    ResourceClaim = "resource.k8s.io/ResourceClaim"
    ResourceSlice = "resource.k8s.io/ResourceSlice"
    DeviceClass = "resource.k8s.io/DeviceClass"
    PodGroup = "scheduling.k8s.io/PodGroup"
    Wildcard = "*"


class Action(IntFlag):
    """The kind of change. The values matter: `matches` compares them, as kube-scheduler does."""

    Add = 1
    Delete = 2
    UpdateNodeAllocatable = 4
    UpdateNodeLabel = 8
    UpdateNodeTaint = 16
    UpdateNodeCondition = 32
    UpdateNodeAnnotation = 64
    UpdateNodeDeclaredFeature = 128
    UpdatePodLabel = 256
    UpdatePodScaleDown = 512
    UpdatePodToleration = 1024
    UpdatePodSchedulingGatesEliminated = 2048
    UpdatePodGeneratedResourceClaim = 4096
    Update = 8188
    All = 8191


class QueueingHint(Enum):
    """Whether an event is worth another scheduling attempt."""

    QueueSkip = 0
    Queue = 1


HintFunction = Callable[["Pod", Any, Any], QueueingHint]
"""(rejected pod, old object, new object) -> hint. The old object is None on add, the new one on delete."""


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of change of a kind of object, for example the update of a node's labels."""

    resource: str
    action: Action
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The event's name in metrics and logs."""
        if self.custom_label:
            return self.custom_label
        return f"{self.resource}{self.action.name or 'Update'}"

    @property
    def wildcard(self) -> bool:
        return self.resource == EventResource.Wildcard and self.action == Action.All

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether a registration for this event covers the incoming event."""
        if self.wildcard:
            return True
        return (
            _covers(self.resource, incoming.resource)
            and bool(self.action & incoming.action)
            and incoming.action <= self.action
        )


def _covers(registered: str, incoming: str) -> bool:
    if registered in (incoming, EventResource.Wildcard):
        return True
    return registered == EventResource.Pod and incoming in (EventResource.AssignedPod, EventResource.UnschedulablePod)


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A registration: an event and its queueing hint function. Without a function, every event is worth an attempt."""

    event: ClusterEvent
    hint: HintFunction | None = None


def on(resource: str, action: Action, hint: HintFunction | None = None) -> ClusterEventWithHint:
    """Registers an event."""
    return ClusterEventWithHint(ClusterEvent(resource, action), hint)


ALL_EVENTS: tuple[ClusterEventWithHint, ...] = tuple(
    on(resource, Action.All)
    for resource in (
        EventResource.Pod,
        EventResource.Node,
        EventResource.PersistentVolume,
        EventResource.PersistentVolumeClaim,
        EventResource.CSINode,
        EventResource.CSIDriver,
        EventResource.CSIStorageCapacity,
        EventResource.StorageClass,
        EventResource.ResourceClaim,
        EventResource.DeviceClass,
    )
)
"""The events that a plugin registers if it does not override `events_to_register`."""
