"""Deciding a member on the nodes of one placement: with kept answers, or with a diagnosis."""

from __future__ import annotations

import numpy as np

from stowplan.framework import CycleState, Nodes, Pod, Slots
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import PreFiltered
from stowplan.runtime.decide.sampling import Sampler
from stowplan.runtime.decide.sources import Afresh, Planned
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
    """The source of answers from a plan, of which the nodes of the placement are used."""

    __slots__ = ("_planned", "_profile", "_slots")

    diagnosis = None

    def __init__(self, profile: Profile, planned: Planned, slots: Slots) -> None:
        self._profile = profile
        self._planned = planned
        self._slots = slots

    def run_pre_filters(self, state: CycleState, pod: Pod) -> PreFiltered:
        return self._planned.run_pre_filters(state, pod)

    def run_filters(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> int:
        if not self._planned.run_filters(state, pod, pre_filtered):
            return 0
        allowed = np.zeros(len(self._planned.plan.ok), dtype=np.bool_)
        allowed[self._slots] = True
        return self._planned.restrict(allowed)

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod) -> int:
        return self._planned.run_filters_with_nominated_pods(state, pod)

    def afresh(self, state: CycleState, pod: Pod, pre_filtered: PreFiltered) -> Afresh:
        diagnosis = PlacementDiagnosis(self._profile, pod, self._slots)
        return self._planned.afresh(state, pod, pre_filtered, diagnosis)

    def sample(self, sampler: Sampler) -> tuple[int, int]:
        return self._planned.sample(sampler)

    def only_slot(self) -> int:
        return self._planned.only_slot()

    def prioritize(self, state: CycleState, pod: Pod) -> Ranks:
        return self._planned.prioritize(state, pod)

    def select_host(self, ranks: Ranks) -> int:
        return self._planned.select_host(ranks)
