"""Cluster events and queueing hints: which change of the cluster may make a rejected pod schedulable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stowplan.framework.pod import Pod


class EventResource(StrEnum):
    """Kinds whose changes the queue hears of. Custom resources are plain strings like `foos.v1.example.com`."""

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
    """What happened to the object. The numbers matter: `matches` compares them, as kube-scheduler does."""

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
    """Whether an event is worth another attempt."""

    QueueSkip = 0
    Queue = 1


HintFunction = Callable[["Pod", Any, Any], QueueingHint]
"""(rejected pod, old object, new object) -> hint; old is None on add, new is None on delete."""


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of change, for instance that a node's labels were updated."""

    resource: str
    action: Action
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The text that metrics and logs use."""
        if self.custom_label:
            return self.custom_label
        return f"{self.resource}{self.action.name or 'Update'}"

    @property
    def wildcard(self) -> bool:
        return self.resource == EventResource.Wildcard and self.action == Action.All

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether a plugin that registered this event wants to hear of the incoming one."""
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
    """A registration: the event, and the function that looks closer (None: always worth an attempt)."""

    event: ClusterEvent
    hint: HintFunction | None = None


def on(resource: str, action: Action, hint: HintFunction | None = None) -> ClusterEventWithHint:
    """Register interest in an event."""
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
"""What a plugin that can reject pods hears of when it does not say which events matter to it."""
