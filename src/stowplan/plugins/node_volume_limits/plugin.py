"""The plugin: what the pod brings, plus what the node has, against the limits of its CSINode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from stowplan import api
from stowplan.cache.volumes import TranslationError, csi_handle, migration_of, uses_claim
from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    PodTemplate,
    QueueingHint,
    Status,
    on,
    skip,
)
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.node_volume_limits.attach_limits import AttachLimits, limits_of
from stowplan.plugins.node_volume_limits.attachable import NAME, Attachable, AttachableVolumes, attachable_volumes

STATE = "PreFilter" + NAME

Wanted = tuple[set[Attachable] | Status, set[Attachable] | Status]
"""What a pod brings to a node without and to one with a CSINode: in-tree volumes count on the latter alone."""

TOO_MANY = Status(Code.Unschedulable, "node(s) exceed max volume count", plugin=NAME)


class NodeVolumeLimits(InTreePlugin):
    """Counts what the pods on a node use, and what is attached to it besides."""

    name = NAME
    reads = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment")

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self.attachable = AttachableVolumes(self.cluster)
        self.bounds = AttachLimits(self.cluster)

    def concerns(self, template: PodTemplate) -> bool:
        return bool(attachable_volumes(template))

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        if not attachable_volumes(pod.template):
            return skip()
        state.write(STATE, self._volumes(pod))
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        limits = self.bounds.limits().get(node.name)
        wanted: set[Attachable] | Status = self._wanted(state, pod)[limits is not None]
        if isinstance(wanted, Status):
            return wanted
        return self._check(wanted, limits, node) if wanted and limits else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        found: dict[Status, Mask] = {}
        for position, node in self._doubtful(self._wanted(state, pod), nodes):
            status = self.filter(state, pod, node)
            if status is not None:
                found.setdefault(status, np.zeros(len(nodes), dtype=np.bool_))[position] = True
        yield from ((mask, status) for status, mask in found.items())

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (
            on(EventResource.CSINode, Action.Add),
            on(EventResource.CSINode, Action.Update, self._after_csi_node_update),
            on(EventResource.Pod, Action.Delete, self._after_pod_delete),
            on(EventResource.PersistentVolumeClaim, Action.Add, self._after_claim_add),
            on(EventResource.VolumeAttachment, Action.Delete, self._after_attachment_delete),
        )

    def _wanted(self, state: CycleState, pod: Pod) -> Wanted:
        """What PreFilter found out; in a profile without it, Filter does so itself."""
        known: Wanted | None = state.get(STATE)
        return self._volumes(pod) if known is None else known

    def _volumes(self, pod: Pod) -> Wanted:
        without, volumes = (self.attachable.of_pod(pod, migrated=migrated, new=True) for migrated in (False, True))
        return without, volumes

    def _doubtful(self, wanted: Wanted, nodes: Nodes) -> Iterable[tuple[int, NodeInfo]]:
        """The nodes that need a close look, each with its position; bounds know nothing of pods that are supposed."""
        without, volumes = wanted
        if isinstance(without, Status) or isinstance(volumes, Status) or self.cluster.journal.active:
            return nodes.infos()
        doubt = self.bounds.doubtful(Counter(driver for driver, _ in volumes))[nodes.index] if volumes else ()
        positions = np.flatnonzero(doubt)
        slots = np.arange(self.nodes.high, dtype=np.intp)[nodes.index]
        return ((int(positions[i]), node) for i, node in self.nodes.subset(slots[positions]).infos())

    def _check(self, wanted: set[Attachable], limits: Mapping[str, int], node: NodeInfo) -> Status | None:
        """Whether the limits hold; what pods on the node use already costs nothing more."""
        used: set[Attachable] = set()
        for other in node.pods.values():
            if other.template.spec.volumes:
                theirs = self.attachable.of_pod(other, migrated=True)
                if isinstance(theirs, Status):
                    return theirs
                used |= theirs
        new = Counter(driver for driver, _ in wanted - used if driver in limits)
        if not new:
            return None
        current = Counter(driver for driver, _ in used | self.attachable.at_node(node.name))
        return TOO_MANY if any(current[driver] + count > limits[driver] for driver, count in new.items()) else None

    def _after_csi_node_update(self, pod: Pod, old: api.CSINode, new: api.CSINode) -> QueueingHint:
        """Only a limit that was raised helps; no limit counts as none left."""
        before = limits_of(old)
        raised = any(limit > before.get(driver, 0) for driver, limit in limits_of(new).items())
        return QueueingHint.Queue if raised else QueueingHint.QueueSkip

    def _after_pod_delete(self, pod: Pod, old: Pod, new: None) -> QueueingHint:
        placed = bool(old.node_name or old.nominated_node_name)
        return QueueingHint.Queue if placed and attachable_volumes(old.template) else QueueingHint.QueueSkip

    def _after_claim_add(self, pod: Pod, old: None, new: api.PersistentVolumeClaim) -> QueueingHint:
        return QueueingHint.Queue if uses_claim(pod, new) else QueueingHint.QueueSkip

    def _after_attachment_delete(self, pod: Pod, old: api.VolumeAttachment, new: None) -> QueueingHint:
        """Any detached volume may have been in the way of a claim's; an in-tree volume's driver is known."""
        frees = any(
            volume.persistent_volume_claim is not None or _attached_by(volume, old.spec.attacher)
            for volume in pod.spec.volumes
        )
        return QueueingHint.Queue if frees else QueueingHint.QueueSkip


def _attached_by(volume: api.Volume, attacher: str) -> bool:
    """Whether a driver attaches an in-tree volume; one that makes no sense gets the benefit of the doubt."""
    migration = migration_of(volume)
    if migration is None:
        return False
    try:
        if migration.complete:
            csi_handle(volume)
    except TranslationError:
        return True
    return migration.driver == attacher
