"""The plugin: what the pod brings, plus what the node has, against the limits of its CSINode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

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
from stowplan.plugins.node_volume_limits.attachable import NAME, Attachable, AttachableVolumes, attachable_volumes

STATE = "PreFilter" + NAME

TOO_MANY = Status(Code.Unschedulable, "node(s) exceed max volume count", plugin=NAME)


class NodeVolumeLimits(InTreePlugin):
    """Counts what the pods on a node use, and what is attached to it besides."""

    name = NAME

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self.attachable = AttachableVolumes(self.cluster)
        self.csi_nodes = self.cluster.stores.of(api.CSINode)
        self._limits: dict[str, dict[str, int]] = {}
        self._limits_version = -1

    def concerns(self, template: PodTemplate) -> bool:
        return bool(attachable_volumes(template))

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        if not attachable_volumes(pod.template):
            return skip()
        # What the pod brings to a node without and with a CSINode: in-tree volumes count on the latter alone.
        wanted = [self.attachable.of_pod(pod, migrated=migrated, new=True) for migrated in (False, True)]
        state.write(STATE, wanted)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        limits = self._limits_by_node().get(node.name)
        wanted: set[Attachable] | Status = state.read(STATE)[limits is not None]
        if isinstance(wanted, Status):
            return wanted
        return self._check(wanted, limits, node) if wanted and limits else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        found: dict[Status, Mask] = {}
        for position, node in nodes.infos():
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

    def _limits_by_node(self) -> dict[str, dict[str, int]]:
        """The limits by driver of every node that has a CSINode."""
        if self._limits_version != self.csi_nodes.version:
            self._limits_version = self.csi_nodes.version
            self._limits = {csi_node.metadata.name: limits_of(csi_node) for csi_node in self.csi_nodes}
        return self._limits

    def _check(self, wanted: set[Attachable], limits: dict[str, int], node: NodeInfo) -> Status | None:
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


def limits_of(csi_node: api.CSINode) -> dict[str, int]:
    """How many volumes of each driver with a limit the node can take."""
    counts = {d.name: d.allocatable.count for d in csi_node.spec.drivers if d.allocatable is not None}
    return {driver: count for driver, count in counts.items() if count is not None}


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
