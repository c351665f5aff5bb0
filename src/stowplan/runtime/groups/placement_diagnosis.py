"""The diagnosis of a member that is tried on the nodes of one placement."""

from __future__ import annotations

import numpy as np

from stowplan.framework import Nodes, Pod, Slots
from stowplan.runtime.decide.diagnosis import Diagnosis
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
        left = np.intersect1d(super().candidates().slots(), self._slots)
        return self.profile.cluster.nodes.subset(left)

    def try_nominated(self) -> bool:
        info = self.profile.cluster.nodes.get(self.pod.nominated_node_name)
        return info is not None and info.slot in self._slots and super().try_nominated()
