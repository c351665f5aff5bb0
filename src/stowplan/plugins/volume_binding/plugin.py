"""The plugin: PreFilter reads the pod's volumes, Filter checks nodes, Reserve assumes the decision, PreBind writes it.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.api.node_selectors import CompiledNodeSelector
from stowplan.cache.node_matching import match_nodes
from stowplan.config.args import VolumeBindingArgs
from stowplan.plugins.base import InTreePlugin, explain_claims
from stowplan.plugins.volume_binding.binder import Binder, VolumeDecision
from stowplan.plugins.volume_binding.claims import selected_node
from stowplan.plugins.volume_binding.explanation import VolumeExplanation
from stowplan.plugins.volume_binding.hints import EVENTS
from stowplan.plugins.volume_binding.migration import MigratedNodes
from stowplan.plugins.volume_binding.pod_volumes import BoundVolume, PodVolumes
from stowplan.plugins.volume_binding.pre_bind import VolumeWriter
from stowplan.plugins.volume_binding.reasons import NAME, NODE_CONFLICT, VOLUME_MISSING, rejection

STATE = NAME
_EXPLANATION = f"Explain{NAME}"


class Bookings:
    """The state of a cycle: the pod's volumes and the decision. Clones of the CycleState share it."""

    __slots__ = ("decision", "wanted")

    def __init__(self, wanted: PodVolumes) -> None:
        self.wanted = wanted
        self.decision: VolumeDecision | None = None
        """The decision of Reserve; None before Reserve and where every claim is bound."""


class VolumeBinding(InTreePlugin):
    """Has no score: kube-scheduler's StorageCapacityScoring gate is off by default."""

    name = NAME
    reads = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity")
    parallel_pre_bind = True

    def __init__(self, args: VolumeBindingArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self.binder = Binder(self.cluster)
        self._migrated = MigratedNodes(self.cluster)
        self._writer = VolumeWriter(self.cluster, self.binder, float(args.bind_timeout_seconds))

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return any(v.persistent_volume_claim is not None or v.ephemeral is not None for v in template.spec.volumes)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        if not self.concerns(pod.template):
            return fwk.skip()
        wanted = self.binder.prepare(pod)
        if isinstance(wanted, fwk.Status):
            return wanted
        state.write(STATE, Bookings(wanted))
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        found = self.binder.find(state.read(STATE).wanted, node)
        return found if isinstance(found, fwk.Status) else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        wanted: PodVolumes = state.read(STATE).wanted
        if wanted.delayed or wanted.problem or any(volume.untranslatable for volume in wanted.bound):
            yield from self._filter_alike(state, pod, nodes)
            return
        conflict = np.zeros(len(nodes), dtype=np.bool_)
        for volume in wanted.bound:
            if volume.affinity is not None or volume.migrated_affinity is not None:
                conflict |= self._conflicts(volume, nodes)
        yield conflict, rejection(NODE_CONFLICT)
        if wanted.missing:
            yield ~conflict, rejection(VOLUME_MISSING)

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status:
        return fwk.skip()

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return 0

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        bookings: Bookings | None = state.get(STATE)
        node = self.nodes.get(node_name)
        if bookings is None or node is None or not bookings.wanted.delayed:
            return None
        decision = self.binder.find(bookings.wanted, node)
        if not isinstance(decision, fwk.Status):
            decision = self.binder.assume(decision, node_name)
        if isinstance(decision, fwk.Status):
            return decision
        bookings.decision = decision
        return None

    def unreserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        bookings: Bookings | None = state.get(STATE)
        if bookings is not None and bookings.decision is not None:
            self.binder.restore(bookings.decision)
            bookings.decision = None

    def pre_bind_pre_flight(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        bookings: Bookings | None = state.get(STATE)
        return fwk.skip() if bookings is None or bookings.decision is None else None

    async def pre_bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        bookings: Bookings | None = state.get(STATE)
        if bookings is None or bookings.decision is None:
            return None
        return await self._writer.carry_out(pod, node_name, bookings.decision)

    def settled_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes, nominated: Iterable[Iterable[fwk.Pod]]
    ) -> fwk.Mask | None:
        return self.passing_nodes(state, pod, nodes)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return EVENTS

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        known = self._explanation(state, pod)
        return () if known is None else known.refusals(node)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        return explain_claims(self.cluster, pod, self.handle.now())

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        known = self._explanation(state, pod)
        if known is None:
            return None
        there = "; ".join(refusal.there or refusal.text for refusal in known.refusals(node))
        return fwk.Requirement(f"volumes of claims {known.volumes()}", there or "reachable")

    def _explanation(self, state: fwk.CycleState, pod: fwk.Pod) -> VolumeExplanation | None:
        bookings: Bookings | None = state.get(STATE)
        if bookings is None:
            return None
        known: VolumeExplanation | None = state.get(_EXPLANATION)
        if known is None:
            known = VolumeExplanation(self.binder, bookings.wanted, pod)
            state.write(_EXPLANATION, known)
        return known

    def _filter_alike(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        """Evaluate one node of each group that differs in nothing that the result depends on."""
        present = np.ones(len(nodes), dtype=np.bool_)
        if nodes.holes is not None:
            present[nodes.holes] = False
        positions = np.flatnonzero(present)
        slots = nodes.slots_at(positions)
        group = np.zeros(len(positions), dtype=np.intp)
        for column in self._columns(state.read(STATE).wanted, nodes):
            values = column[positions].astype(np.intp)
            _, group = np.unique(group * (values.max(initial=0) + 2) + values + 1, return_inverse=True)
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        found: dict[fwk.Status, fwk.Mask] = {}
        for number, slot in enumerate(slots[first].tolist()):
            info = self.nodes.infos[slot]
            status = None if info is None else self.filter(state, pod, info)
            if status is not None:
                mask = found.setdefault(status, np.zeros(len(nodes), dtype=np.bool_))
                mask[positions[group == number]] = True
        yield from ((mask, status) for status, mask in found.items())

    def _columns(self, wanted: PodVolumes, nodes: fwk.Nodes) -> Iterator[NDArray[Any]]:
        """Everything that the result depends on, by position; at least -1."""
        for volume in wanted.bound:
            if volume.affinity is not None or volume.migrated_affinity is not None:
                yield self._conflicts(volume, nodes)
            if volume.untranslatable and volume.migration is not None:
                yield self._migrated.mask(volume.migration.plugin)[nodes.index]
        slots = np.arange(self.nodes.high, dtype=np.intp)[nodes.index]
        for delayed in wanted.provisioned:
            yield slots == self.nodes.slot_of.get(selected_node(delayed.claim) or "", -1)
        for key in wanted.label_keys():
            if key in self.nodes.labels:
                yield self.nodes.label(key).array[nodes.index]

    def _conflicts(self, volume: BoundVolume, nodes: fwk.Nodes) -> fwk.Mask:
        """The nodes that cannot reach a bound volume."""
        conflict = self._out_of_reach(volume.affinity, nodes)
        if volume.migration is None or volume.migrated_affinity == volume.affinity:
            return conflict
        migrated = self._migrated.mask(volume.migration.plugin)[nodes.index]
        return np.where(migrated, self._out_of_reach(volume.migrated_affinity, nodes), conflict)

    def _out_of_reach(self, affinity: CompiledNodeSelector | None, nodes: fwk.Nodes) -> fwk.Mask:
        if affinity is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        return ~match_nodes(self.nodes, affinity, nodes.index)
