"""Dry runs for pods whose filters read nothing of other pods but the amounts that they leave free."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stowplan.framework import CycleState, Mask, Pod, Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.decide.filtering import run_filters
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.dry_run import NO_VICTIMS, PreemptionCandidate, PreemptionCandidates
from stowplan.runtime.preemption.dry_run_many import Cleared, DryRunMany, candidate_of
from stowplan.runtime.preemption.kept_dry_runs import dry_runs_for
from stowplan.runtime.preemption.victim_table import Ints, VictimTable, requested

if TYPE_CHECKING:
    from stowplan.plugins.base import InTreePlugin
    from stowplan.runtime.profile.profile import Profile


def demands_of(profile: Profile, state: CycleState, pod: Pod) -> tuple[Demand, ...] | None:
    """The amounts that the pod's filters need free on a node; None if a filter checks anything else that evictions may
    change."""
    skipped, template = state.skip_filter, pod.template
    if any(plugin.name not in skipped for plugin in profile.extensions):
        return None
    found: tuple[Demand, ...] = ()
    for plugin in profile.filters:
        if plugin.name in skipped or plugin.scope == "node" or not plugin.concerns(template):
            continue
        if plugin.scope == "cluster":
            if not plugin.idle_filter(pod) and _settled_nodes(plugin, profile, state, pod) is None:
                return None
            continue
        demands = plugin.demands(template)
        if demands is None:
            return None
        found += demands
    return found or None


def _settled_nodes(plugin: InTreePlugin, profile: Profile, state: CycleState, pod: Pod) -> Mask | None:
    """By slot: the nodes that pass, if no pod on a node or nominated to one can change that."""
    nominated = (pods.values() for pods in profile.nominator.by_node.values())
    return plugin.settled_nodes(state, pod, profile.cluster.nodes.everything(), nominated)


class VectorDryRuns:
    """The demands of one pod, compared with the amounts that nodes have free without their potential victims."""

    def __init__(self, profile: Profile, state: CycleState, pod: Pod, demands: tuple[Demand, ...]) -> None:
        self._profile = profile
        self._state = state
        self._pod = pod
        self._demands = demands
        self._table = VictimTable.of(profile, pod.priority)
        self._way = dry_runs_for(self._table, demands)
        self.out_of_tree: list[InTreePlugin] = []
        """Out-of-tree filters of scope node."""
        self._open = self._open_nodes()
        self._nominated = self._nominated_amounts()

    def clear(self, slots: Slots) -> Cleared:
        """The nodes on which evictions make room."""
        cleared = self._way.clear(slots[self._open[slots]], self._nominated)
        if self.out_of_tree and len(cleared.slots):
            return cleared.where(np.array([self._accepted(slot) for slot in cleared.slots.tolist()]))
        return cleared

    def candidates(self, cleared: Cleared) -> PreemptionCandidates:
        """The nodes as candidates, which are made on access, when the cluster may have changed."""
        known = self._table.rows
        rows = [known[slot] for slot in cleared.slots.tolist()]

        def make(position: int) -> PreemptionCandidate:
            row = rows[position]
            assert row is not None
            return candidate_of(row, np.flatnonzero(cleared.victims[:, position]).tolist())

        return PreemptionCandidates(range(len(rows)), make)

    def reasons(self, slots: Slots) -> tuple[Counter[str], Slots]:
        """Counts of the reasons why nodes cannot be cleared for lack of amounts or victims; and the other nodes."""
        counts: Counter[str] = Counter()
        spare = DryRunMany(self._table, self._demands).spare(slots, self._nominated)
        empty = self._table.count[slots] == 0
        judged = self._open[slots] & ~empty
        short = np.zeros(len(slots), dtype=np.bool_)
        for demand, left in zip(self._demands, spare, strict=True):
            lacking = judged & (left < 0)
            counts[demand.reason] += int(np.count_nonzero(lacking))
            short |= lacking
        counts[NO_VICTIMS.message] += int(np.count_nonzero(empty))
        return counts, slots[~empty & ~short]

    def _open_nodes(self) -> Mask:
        """By slot: the nodes that pass the in-tree filters whose answers no eviction changes."""
        profile, state, pod = self._profile, self._state, self._pod
        mask = profile.cluster.nodes.alive[: profile.cluster.nodes.high].copy()
        for plugin in profile.filters:
            if plugin.scope == "node+pods" or plugin.name in state.skip_filter or not plugin.concerns(pod.template):
                continue
            if plugin.scope == "cluster":
                settled = None if plugin.idle_filter(pod) else _settled_nodes(plugin, profile, state, pod)
                if settled is not None:
                    mask &= settled
            elif isinstance(plugin, OutOfTreePlugin):
                self.out_of_tree.append(plugin)
            else:
                key = (plugin, "filter", plugin.signature(pod.template))
                mask &= profile.static_answers.get(pod.template, key, partial(plugin.passing_nodes, state, pod))
        return mask

    def _accepted(self, slot: int) -> bool:
        """Whether a node passes the out-of-tree filters, which run for no more nodes than in kube-scheduler."""
        info = self._profile.cluster.nodes.infos[slot]
        assert info is not None
        try:
            return run_filters(self.out_of_tree, self._state, self._pod, info) is None
        except CycleError:
            return False

    def _nominated_amounts(self) -> Ints | None:
        """[demand, slot]: the requests of pods nominated to nodes, which need room as well."""
        table = self._profile.cluster.nodes
        demands, slot_of = self._demands, table.slot_of
        uid, priority = self._pod.uid, self._pod.priority
        found: list[int] = []
        rivals: list[Pod] = []
        # Inlined `nominated_rivals`: while many pods preempt, each decision passes here for all of them.
        for name, pods in self._profile.nominator.by_node.items():
            slot = slot_of.get(name)
            if slot is None:
                continue
            for other in pods.values():
                if other.template.priority >= priority and other.uid != uid:
                    found.append(slot)
                    rivals.append(other)
        if not rivals:
            return None
        amounts: Ints = np.zeros((len(demands), table.high), dtype=np.int64)
        slots = np.array(found, dtype=np.intp)
        template = rivals[0].template
        alike = all(other.template is template and other.used is None for other in rivals)
        for row, demand in zip(amounts, demands, strict=True):
            wanted = requested(rivals[:1] if alike else rivals, demand.resource)
            np.add.at(row, slots, wanted)
        return amounts
