"""Filtering of nodes that pods are nominated to: other pods have to fit beside those.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPluginsWithNominatedPods)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.cache import NodeTable
from stowplan.cache.kept import KeptOnDemand
from stowplan.framework import CycleState, Mask, NodeInfo, Nodes, Pod, Slots, Status
from stowplan.runtime.decide.filtering import filter_node, nominated_rivals
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile


_MAX_KEPT_PER_NODE = 4
"""Kept verdicts are dropped when there are this many times as many as nodes with nominated pods."""

Verdict = tuple[bool, Status | None]
"""Whether pods are nominated to the node that must find room there as well, and the status of the filters if so."""


class _KeptVerdicts(KeptOnDemand):
    """Verdicts about nodes for one template, with the nominated pods that each was made with."""

    __slots__ = ("_rules_version", "by_slot")

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._rules_version = -1
        self.by_slot: dict[int, tuple[tuple[Pod, ...], Verdict]] = {}

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        self.by_slot = {}

    def catch_up(self, rules_version: int, nominated_nodes: int) -> None:
        if self._rules_version != rules_version or len(self.by_slot) > _MAX_KEPT_PER_NODE * nominated_nodes:
            self._rules_version = rules_version
            self.discard()
        self.refresh(None)


class NominatedPodsFilter:
    """The nodes that pods are nominated to, filtered for one pod in one cycle with those pods on them.

    There are many nominated pods while a preemption goes on, and each cycle filters all of their nodes. Verdicts are
    kept for the template until the node, its pods or the pods nominated to it change.
    """

    def __init__(self, profile: Profile, state: CycleState, pod: Pod, *, remember: bool = True) -> None:
        self._profile = profile
        self._state = state
        self._pod = pod
        self._kept = self._kept_verdicts() if remember and self._is_local() else None

    def infos(self) -> list[NodeInfo]:
        get = self._profile.cluster.nodes.get
        return [info for name in self._profile.nominator.by_node if (info := get(name)) is not None]

    def filter(self, info: NodeInfo) -> Verdict:
        nominated = self._profile.nominator.by_node[info.name]
        kept = self._kept
        if kept is None or self._pod.uid in nominated:
            return self._filter(info)
        slot, beside = info.slot, tuple(nominated.values())
        if kept.is_known(slot):
            made_with, verdict = kept.by_slot[slot]
            if made_with == beside:
                return verdict
        verdict = self._filter(info)
        kept.by_slot[slot] = (beside, verdict)
        kept.settle(slot)
        return verdict

    def _filter(self, info: NodeInfo) -> Verdict:
        if not nominated_rivals(self._profile, self._pod, info):
            return False, None
        return True, filter_node(self._profile, self._state, self._pod, info)

    def _kept_verdicts(self) -> _KeptVerdicts:
        cluster = self._profile.cluster
        kept = self._pod.template.derive((self._profile, "nominated"), lambda _: _KeptVerdicts(cluster.nodes))
        kept.catch_up(cluster.selection.rules_version, len(self._profile.nominator.by_node))
        return kept

    def _is_local(self) -> bool:
        """Whether every active filter is in-tree and reads nothing beyond the node and its pods."""
        skipped, pod = self._state.skip_filter, self._pod
        if any(plugin.name not in skipped for plugin in self._profile.extensions):
            return False
        return not any(
            isinstance(plugin, OutOfTreePlugin) or (plugin.scope == "cluster" and not plugin.idle_filter(pod))
            for plugin in self._profile.filters
            if plugin.name not in skipped and plugin.concerns(pod.template)
        )


def filter_with_nominated_pods(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes, passing: Mask) -> Mask:
    """The passing nodes where the pod fits beside the nominated pods; `passing` itself if these are all of them."""
    if not len(nodes):
        return passing
    nominated = NominatedPodsFilter(profile, state, pod)
    infos = nominated.infos()
    left: Mask | None = None
    positions, there = _positions(nodes, np.array([info.slot for info in infos], dtype=np.intp))
    for at in np.flatnonzero(there & passing[positions]).tolist():
        if nominated.filter(infos[at])[1] is not None:
            left = passing.copy() if left is None else left
            left[positions[at]] = False
    return passing if left is None else left


def _positions(nodes: Nodes, slots: Slots) -> tuple[Slots, Mask]:
    """The positions of slots among the nodes, and whether each is among them."""
    if isinstance(nodes.index, slice):
        return slots - (nodes.index.start or 0), np.ones(len(slots), dtype=np.bool_)
    listed = nodes.slots_at(np.arange(len(nodes)))
    positions = np.minimum(np.searchsorted(listed, slots), len(listed) - 1)
    return positions, listed[positions] == slots
