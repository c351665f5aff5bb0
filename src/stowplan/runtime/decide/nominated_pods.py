"""Nodes with pods nominated to them: whoever else wants to go there has to fit beside those as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import CycleState, Mask, NodeInfo, Nodes, Pod, PodTemplate, Slots, Status
from stowplan.runtime.decide.filtering import filter_node, nominated_rivals
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

if TYPE_CHECKING:
    from stowplan.runtime.profile.profile import Profile


_MOST_KEPT = 4
"""So many times the nodes in question, before those are forgotten that no pod is nominated to any more."""


class _Memory:
    """What was found out about nodes for one template, by slot, while the rules stay the same."""

    __slots__ = ("by_slot", "rules_version")

    def __init__(self, template: PodTemplate) -> None:
        self.rules_version = -1
        self.by_slot: dict[int, tuple[tuple[object, ...], bool, Status | None]] = {}
        """What it depends on, whether there are rivals, and what the filters said."""


class NominatedPodsFilter:
    """The nodes that pods are nominated to, as one pod sees them in one cycle.

    Nominated pods are many while a preemption goes on, and each cycle looks at all of their nodes. What it finds is
    remembered for the template until the node, its pods or those nominated to it change.
    """

    def __init__(self, profile: Profile, state: CycleState, pod: Pod, *, remember: bool = True) -> None:
        self._profile = profile
        self._state = state
        self._pod = pod
        self._by_slot = self._remembered() if remember and self._is_local() else None

    def infos(self) -> list[NodeInfo]:
        get = self._profile.cluster.nodes.get
        return [info for name in self._profile.nominator.by_node if (info := get(name)) is not None]

    def judge(self, info: NodeInfo) -> tuple[bool, Status | None]:
        """Whether pods are nominated to the node that must find room there as well, and if so what the filters say."""
        nominated = self._profile.nominator.by_node[info.name]
        known = self._by_slot
        if known is None or self._pod.uid in nominated:
            return self._judge(info)
        basis = (self._profile.cluster.nodes.log.changed.item(info.slot), *nominated.values())
        found = known.get(info.slot)
        if found is None or found[0] != basis:
            found = known[info.slot] = (basis, *self._judge(info))
        return found[1], found[2]

    def _judge(self, info: NodeInfo) -> tuple[bool, Status | None]:
        if not nominated_rivals(self._profile, self._pod, info):
            return False, None
        return True, filter_node(self._profile, self._state, self._pod, info)

    def _remembered(self) -> dict[int, tuple[tuple[object, ...], bool, Status | None]]:
        memory = self._pod.template.derive((self._profile, "crowd"), _Memory)
        rules = self._profile.cluster.selection.rules_version
        if memory.rules_version != rules or len(memory.by_slot) > _MOST_KEPT * len(self._profile.nominator.by_node):
            memory.rules_version = rules
            memory.by_slot.clear()
        return memory.by_slot

    def _is_local(self) -> bool:
        """Whether no filter that is asked looks beyond a node and its pods, and none is a user's."""
        skipped, pod = self._state.skip_filter, self._pod
        if any(plugin.name not in skipped for plugin in self._profile.extensions):
            return False
        return not any(
            isinstance(plugin, OutOfTreePlugin) or (plugin.scope == "cluster" and not plugin.idle_filter(pod))
            for plugin in self._profile.filters
            if plugin.name not in skipped and plugin.concerns(pod.template)
        )


def filter_with_nominated_pods(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes, passing: Mask) -> Mask:
    """Leave out nodes where the pod would not fit beside the pods nominated to them. Where all stay, `passing`."""
    if not len(nodes):
        return passing
    crowd = NominatedPodsFilter(profile, state, pod)
    infos = crowd.infos()
    left: Mask | None = None
    positions, there = _positions(nodes, np.array([info.slot for info in infos], dtype=np.intp))
    for at in np.flatnonzero(there & passing[positions]).tolist():
        if crowd.judge(infos[at])[1] is not None:
            left = passing.copy() if left is None else left
            left[positions[at]] = False
    return passing if left is None else left


def _positions(nodes: Nodes, slots: Slots) -> tuple[Slots, Mask]:
    """Where these slots are among the nodes, and whether they are there at all."""
    if isinstance(nodes.index, slice):
        return slots - (nodes.index.start or 0), np.ones(len(slots), dtype=np.bool_)
    listed = nodes.slots_at(np.arange(len(nodes)))
    positions = np.minimum(np.searchsorted(listed, slots), len(listed) - 1)
    return positions, listed[positions] == slots
