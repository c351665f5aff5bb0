"""The plugin NodeVolumeLimits: compares the pod's volumes and those on the node with the limits of the CSINode.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache.volumes import TranslationError, csi_handle, migration_of, uses_claim
from stowplan.plugins.base import InTreePlugin, explain_claims
from stowplan.plugins.node_volume_limits.attach_limits import AttachLimits, limits_of
from stowplan.plugins.node_volume_limits.attachable import NAME, Attachable, AttachableVolumes, attachable_volumes
from stowplan.plugins.node_volume_limits.explanation import explain_limits, limits_in_words
from stowplan.plugins.node_volume_limits.volumes_in_use import VolumesInUse

STATE = "PreFilter" + NAME

Wanted = tuple[set[Attachable] | fwk.Status, set[Attachable] | fwk.Status]
"""The volumes that a pod needs on a node without and on a node with a CSINode; in-tree volumes count on the latter
only."""

UNKNOWN_VOLUME_COUNT = 1 << 32
"""Count for a volume whose lookup may fail."""

TOO_MANY = fwk.Status(fwk.Code.Unschedulable, "node(s) exceed max volume count", plugin=NAME)


class NodeVolumeLimits(InTreePlugin):
    """Counts the volumes that the pods on a node use, and other volumes that are attached to it."""

    name = NAME
    reads = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment")

    def __init__(self, args: object, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self.attachable = AttachableVolumes(self.cluster)
        self.in_use = VolumesInUse(self.cluster, self.attachable)
        self.bounds = AttachLimits(self.cluster, self.in_use)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(attachable_volumes(template))

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        if not attachable_volumes(pod.template):
            return fwk.skip()
        state.write(STATE, self._volumes(pod))
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        limits = self.bounds.limits().get(node.name)
        wanted: set[Attachable] | fwk.Status = self._wanted(state, pod)[limits is not None]
        if isinstance(wanted, fwk.Status):
            return wanted
        return self._check(wanted, limits, node) if wanted and limits else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        without, volumes = self._wanted(state, pod)
        if isinstance(without, fwk.Status) or isinstance(volumes, fwk.Status) or self.cluster.journal.active:
            yield from self._filter_each(state, pod, nodes, nodes.infos())
            return
        self.in_use.update()
        exceeded = self.bounds.exceeded(Counter(driver for driver, _ in volumes))
        special = self.in_use.slots_with(volumes) if volumes else set()
        if exceeded is not None:
            # A volume that is in use on a node counts once: these nodes are checked one by one.
            exceeded[list(special)] = False
            yield exceeded[nodes.index], TOO_MANY
        if special:
            position_of = np.full(self.nodes.high, -1, dtype=np.intp)
            position_of[nodes.index] = np.arange(len(nodes))
            infos = ((int(position_of[slot]), self.nodes.infos[slot]) for slot in sorted(special))
            meant = [(position, info) for position, info in infos if position >= 0 and info is not None]
            yield from self._filter_each(state, pod, nodes, meant)

    def _filter_each(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes, infos: Iterable[tuple[int, fwk.NodeInfo]]
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        """Check some of the nodes, given with their positions, one by one."""
        found: dict[fwk.Status, fwk.Mask] = {}
        for position, node in infos:
            status = self.filter(state, pod, node)
            if status is not None:
                found.setdefault(status, np.zeros(len(nodes), dtype=np.bool_))[position] = True
        yield from ((mask, status) for status, mask in found.items())

    def settled_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes, nominated: Iterable[Iterable[fwk.Pod]]
    ) -> fwk.Mask | None:
        """All nodes, if no node exceeds a limit with all volumes attached: evictions only detach some."""
        without, volumes = self._wanted(state, pod)
        if isinstance(without, fwk.Status) or isinstance(volumes, fwk.Status) or self.cluster.journal.active:
            return None
        if not volumes or not self.bounds.limited:
            return np.ones(len(nodes), dtype=np.bool_)
        self.in_use.update()
        added = max((sum(map(_volumes_at_most, pods)) for pods in nominated), default=0)
        if self.in_use.errors or added >= UNKNOWN_VOLUME_COUNT:
            return None
        drivers = Counter(driver for driver, _ in volumes)
        exceeded = self.bounds.exceeded({driver: count + added for driver, count in drivers.items()})
        if exceeded is not None and exceeded[nodes.index].any():
            return None
        return np.ones(len(nodes), dtype=np.bool_)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.CSINode, fwk.Action.Add),
            fwk.on(fwk.EventResource.CSINode, fwk.Action.Update, self._after_csi_node_update),
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, self._after_pod_delete),
            fwk.on(fwk.EventResource.PersistentVolumeClaim, fwk.Action.Add, self._after_claim_add),
            fwk.on(fwk.EventResource.VolumeAttachment, fwk.Action.Delete, self._after_attachment_delete),
        )

    def _wanted(self, state: fwk.CycleState, pod: fwk.Pod) -> Wanted:
        """The result of PreFilter; computed here in a profile without PreFilter."""
        known: Wanted | None = state.get(STATE)
        return self._volumes(pod) if known is None else known

    def _volumes(self, pod: fwk.Pod) -> Wanted:
        without, volumes = (self.attachable.of_pod(pod, migrated=migrated, new=True) for migrated in (False, True))
        return without, volumes

    def _check(self, wanted: set[Attachable], limits: Mapping[str, int], node: fwk.NodeInfo) -> fwk.Status | None:
        if self.cluster.journal.active:  # The columns do not have the pods of a what-if.
            counts = self.count(wanted, limits, node)
            if isinstance(counts, fwk.Status):
                return counts
            new, current = counts
            added = Counter(driver for driver, _ in new)
            return (
                TOO_MANY if any(current[driver] + count > limits[driver] for driver, count in added.items()) else None
            )
        self.in_use.update()
        error = self.in_use.errors.get(node.slot)
        if error is not None:
            return error
        added = Counter(driver for driver, _ in wanted - self.in_use.of_slot(node.slot) if driver in limits)
        for driver, count in added.items():
            if int(self.in_use.counts(driver)[node.slot]) + count > limits[driver]:
                return TOO_MANY
        return None

    def count(
        self,
        wanted: set[Attachable],
        limits: Mapping[str, int],
        node: fwk.NodeInfo,
        without: frozenset[str] = frozenset(),
    ) -> tuple[set[Attachable], Counter[str]] | fwk.Status:
        """(volumes that the pod adds, number of those that count already by driver), without the pods of some uids.

        Volumes that pods on the node already use do not count again.
        """
        used: set[Attachable] = set()
        for other in node.pods.values():
            if other.template.spec.volumes and other.uid not in without:
                theirs = self.attachable.of_pod(other, migrated=True)
                if isinstance(theirs, fwk.Status):
                    return theirs
                used |= theirs
        new = {volume for volume in wanted - used if volume[0] in limits}
        if not new:
            return new, Counter()
        return new, Counter(driver for driver, _ in used | self.attachable.at_node(node.name))

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        limits = self.bounds.limits().get(node.name)
        wanted = self._wanted(state, pod)[limits is not None]
        return () if not limits or isinstance(wanted, fwk.Status) else explain_limits(self, wanted, limits, pod, node)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        return explain_claims(self.cluster, pod, self.handle.now())

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        limits = self.bounds.limits().get(node.name)
        wanted = self._wanted(state, pod)[limits is not None]
        return None if not limits or isinstance(wanted, fwk.Status) else limits_in_words(self, wanted, limits, node)

    def _after_csi_node_update(self, pod: fwk.Pod, old: api.CSINode, new: api.CSINode) -> fwk.QueueingHint:
        """Queue if a limit was raised. A driver that had no limit counts as limit 0."""
        before = limits_of(old)
        raised = any(limit > before.get(driver, 0) for driver, limit in limits_of(new).items())
        return fwk.QueueingHint.Queue if raised else fwk.QueueingHint.QueueSkip

    def _after_pod_delete(self, pod: fwk.Pod, old: fwk.Pod, new: None) -> fwk.QueueingHint:
        placed = bool(old.node_name or old.nominated_node_name)
        return fwk.QueueingHint.Queue if placed and attachable_volumes(old.template) else fwk.QueueingHint.QueueSkip

    def _after_claim_add(self, pod: fwk.Pod, old: None, new: api.PersistentVolumeClaim) -> fwk.QueueingHint:
        return fwk.QueueingHint.Queue if uses_claim(pod, new) else fwk.QueueingHint.QueueSkip

    def _after_attachment_delete(self, pod: fwk.Pod, old: api.VolumeAttachment, new: None) -> fwk.QueueingHint:
        """Queue: any detached volume may help a claim; for an in-tree volume only one of its driver."""
        frees = any(
            volume.persistent_volume_claim is not None or _attached_by(volume, old.spec.attacher)
            for volume in pod.spec.volumes
        )
        return fwk.QueueingHint.Queue if frees else fwk.QueueingHint.QueueSkip


def _volumes_at_most(pod: fwk.Pod) -> int:
    """An upper bound of the volumes of a pod. Only claims by name are certain to be found without an error."""
    sources = [volume.persistent_volume_claim for volume in attachable_volumes(pod.template)]
    return sum(1 if source is not None and source.claim_name else UNKNOWN_VOLUME_COUNT for source in sources)


def _attached_by(volume: api.Volume, attacher: str) -> bool:
    """Whether a driver attaches an in-tree volume; True for a volume that cannot be interpreted."""
    migration = migration_of(volume)
    if migration is None:
        return False
    try:
        if migration.complete:
            csi_handle(volume)
    except TranslationError:
        return True
    return migration.driver == attacher
