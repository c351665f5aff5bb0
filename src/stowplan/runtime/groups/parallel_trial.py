"""Trying members of a group whose filters and scores read nothing but the requests on one node.

Such members need no decision of their own: the ranks of the nodes are kept, and a member changes the rank of its node
alone. Placements do not overlap, so that all of them can be filled at once: each member is put on the best node of
every placement, with one NumPy pass over all nodes. Other groups are tried member by member, in one placement after
the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.cluster import Footprint
from stowplan.framework import CycleState, Placement, Pod, PodGroupInfo, PodTemplate
from stowplan.runtime.decide.filtering import NO_OBJECTION
from stowplan.runtime.decide.plan import Plan
from stowplan.runtime.profile.profile import Profile

MIN_PARALLEL_PLACEMENTS = 4
"""With fewer placements, one trial after the other is as fast."""

_READ_COLUMNS = frozenset(("NodeResourcesFit", "NodeResourcesBalancedAllocation"))
"""The plugins of scope node+pods that read nothing but the columns of requests."""

Assignments = list[tuple[Pod, str]]
"""(member, name of its node)"""


class ColumnTrial:
    """Members on nodes, as far as the columns of requests are concerned: Permit and PostFilter do not run. The cluster
    is left as it was."""

    def __init__(self, profile: Profile, group: PodGroupInfo) -> None:
        self._profile = profile
        self._group = group
        self._plans: dict[PodTemplate, Plan] = {}

    def run(self) -> list[tuple[str, int]] | None:
        """(node, number of feasible nodes) of each member; None if a member finds none, or needs a decision."""
        if not self._is_possible():
            return None
        infos, state = self._profile.cluster.nodes.infos, CycleState()
        found: list[tuple[str, int]] = []
        taken: dict[PodTemplate, Counter[int]] = {}
        try:
            for pod in self._group.members:
                plan = self._plans[pod.template]
                plan.refresh((state, pod))
                slot = int(plan.key.argmax())
                info = infos[slot]
                if not plan.feasible or info is None:
                    return None
                found.append((info.name, plan.feasible))
                self._add_one(pod.template, slot)
                taken.setdefault(pod.template, Counter())[slot] += 1
        finally:
            for template, counts in taken.items():
                self._shift(template, {slot: -count for slot, count in counts.items()})
        return found

    @property
    def filters(self) -> frozenset[str]:
        """The filters that ran for the members."""
        return frozenset[str]().union(*(plan.folded for plan in self._plans.values()))

    def _is_possible(self) -> bool:
        profile, members = self._profile, self._group.members
        if profile.sampler is not None or profile.nominator.by_node or profile.extenders:
            return False
        if any(pod.nominated_node_name or pod.node_name or pod.used is not None for pod in members):
            return False
        first_of = {pod.template: pod for pod in reversed(members)}
        return all(self._has_plan(pod) for pod in first_of.values())

    def _has_plan(self, pod: Pod) -> bool:
        """Whether the nodes' ranks for such pods depend on requests on the same node alone."""
        planned = self._profile.planned(pod)
        footprint = pod.template.footprint or self._profile.cluster.footprint(pod.template)
        if planned is None or footprint.ports or footprint.claims or footprint.terms:
            return False
        plan, state = planned.plan, CycleState()
        epoch, pre_filtered = self._profile.epoch, planned.run_pre_filters(state, pod)
        planned.run_filters(state, pod, pre_filtered)
        self._plans[pod.template] = plan
        return (
            epoch == self._profile.epoch
            and pre_filtered is NO_OBJECTION
            and planned.has_ranks
            and not (plan.pre_filters or plan.token_filters or plan.live_filters)
            and plan.pod_plugins <= _READ_COLUMNS
        )

    def _add_one(self, template: PodTemplate, slot: int) -> None:
        footprint: Footprint = template.footprint
        for column, amount in footprint.deltas:
            values = column.values
            value = values[slot] = values[slot] + amount
            column.array[slot] = value
        for column, amount in footprint.scalars:
            column.set(slot, column.values[slot] + amount)
        self._profile.cluster.nodes.log.append(slot)

    def _shift(self, template: PodTemplate, pods: dict[int, int]) -> None:
        """Add the requests of pods to nodes, by slot, or take them back."""
        footprint: Footprint = template.footprint
        log = self._profile.cluster.nodes.log
        slots = list(pods)
        for column, amount in footprint.deltas:
            values = column.values
            for slot, count in pods.items():
                values[slot] += count * amount
            column.array[slots] = [values[slot] for slot in slots]
        for column, amount in footprint.scalars:
            for slot, count in pods.items():
                column.set(slot, column.values[slot] + count * amount)
        log.extend(slots)


class ParallelTrial(ColumnTrial):
    """The members of a group in every placement."""

    def run_in(self, placements: Sequence[Placement]) -> list[Assignments] | None:
        """The members that find a node in each placement; None if placements have to be tried one after the other."""
        slots = [placement.nodes.slots() for placement in placements]
        if len(slots) < MIN_PARALLEL_PLACEMENTS or len(np.unique(np.concatenate(slots))) != sum(map(len, slots)):
            return None
        if not self._is_possible():
            return None
        width = max(map(len, slots))
        table = np.zeros((len(slots), width), dtype=np.intp)
        missing = np.ones((len(slots), width), dtype=np.bool_)
        for row, each in enumerate(slots):
            table[row, : len(each)] = each
            missing[row, : len(each)] = False
        return self._fill(table, missing)

    def _fill(self, table: NDArray[np.intp], missing: NDArray[np.bool_]) -> list[Assignments]:
        nodes = self._profile.cluster.nodes
        names = [info.name if info is not None else "" for info in nodes.infos]
        assigned: list[Assignments] = [[] for _ in table]
        taken: dict[PodTemplate, Counter[int]] = {}
        rows = np.arange(len(table))
        state = CycleState()
        try:
            for pod in self._group.members:
                plan = self._plans[pod.template]
                plan.refresh((state, pod))
                ranks = plan.key[table]
                ranks[missing] = 0
                best = ranks.argmax(axis=1)
                fitting = np.flatnonzero(ranks[rows, best])
                chosen = table[fitting, best[fitting]].tolist()
                for row, slot in zip(fitting.tolist(), chosen, strict=True):
                    assigned[row].append((pod, names[slot]))
                taken.setdefault(pod.template, Counter()).update(chosen)
                self._shift(pod.template, dict.fromkeys(chosen, 1))
        finally:
            for template, counts in taken.items():
                self._shift(template, {slot: -count for slot, count in counts.items()})
        return assigned


def needed(group: PodGroupInfo, scheduled: int) -> int:
    """How many of the members have to find a node."""
    least = None if group.rules is None else group.rules.min_count
    return 1 if least is None else max(least - scheduled, 1)
