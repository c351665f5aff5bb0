"""Deciding a member on the nodes of one placement: with kept answers, or with a diagnosis."""

from __future__ import annotations

import numpy as np

from stowplan.framework import CycleState, Mask, Nodes, Pod, Slots
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import PreFiltered
from stowplan.runtime.decide.planned import Planned
from stowplan.runtime.decide.sampling import Sampler
from stowplan.runtime.decide.sources import Afresh
from stowplan.runtime.decide.ties import Ranks
from stowplan.runtime.profile.profile import Profile


class PlacementDiagnosis(Diagnosis):
    """PreFilter sees all nodes; filters and messages know those of the placement. A nominated node outside of it is
    passed over."""

    def __init__(self, profile: Profile, pod: Pod, slots: Slots) -> None:
        super().__init__(profile, pod, plain=True)
        self._slots = slots

    @property
    def node_count(self) -> int:
        return len(self._slots)

    def candidates(self) -> Nodes:
        slots = self._slots
        if self.pre_filtered.names is not None:
            slots = np.intersect1d(super().candidates().slots(), slots)
        return self.profile.cluster.nodes.subset(slots)

    def try_nominated(self) -> bool:
        info = self.profile.cluster.nodes.get(self.pod.nominated_node_name)
        return info is not None and info.slot in self._slots and super().try_nominated()


class PlannedPlacement:
    """The source of answers from a plan, of which the nodes of the placement are used.

    Where the plan has the whole rank of every node, only ranks of the placement's nodes are read.
    """

    __slots__ = ("_allowed", "_planned", "_profile", "_ranks", "_slots")

    diagnosis = None

    def __init__(self, profile: Profile, planned: Planned, slots: Slots) -> None:
        self._profile = profile
        self._planned = planned
        self._slots = slots
        self._allowed: Mask | None = None
        self._ranks: Ranks | None = None
        """Of the placement's nodes, 0 for those that are infeasible; None where the plan does not have them."""

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        return self._planned.run_pre_filters(state, pod)

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        self._ranks = None
        if not self._planned.run_filters(state, pod, pre_filtered):
            return 0
        if self._planned.has_ranks and self._profile.sampler is None and not self._profile.nominator.by_node:
            self._ranks = self._planned.plan.key.take(self._slots)
            return int(np.count_nonzero(self._ranks))
        if self._allowed is None:
            self._allowed = np.zeros(len(self._planned.plan.ok), dtype=np.bool_)
            self._allowed[self._slots] = True
        return self._planned.restrict(self._allowed)

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        return self._planned.run_filters_with_nominated_pods(state, pod)

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        diagnosis = PlacementDiagnosis(self._profile, pod, self._slots)
        return self._planned.afresh(state, pod, pre_filtered, diagnosis)

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        return self._planned.sample(sampler)

    def only_slot(self) -> int:
        return self._planned.only_slot() if self._ranks is None else self.select_host(self._ranks)

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        return self._planned.prioritize(state, pod) if self._ranks is None else self._ranks

    def select_host(self, ranks: Ranks) -> int:
        return self._planned.select_host(ranks) if self._ranks is None else int(self._slots[ranks.argmax()])
