"""Placements that a group prefers: one domain of a node label for all members, if there is one with room for all.

kube-scheduler has required topology alone; an annotation of the PodGroup names the labels that it prefers, the
narrowest first. A group that fits into no domain of any of them is scheduled as without the annotation.
"""

from __future__ import annotations

import numpy as np

from stowplan.config.feature_gates import TOPOLOGY_AWARE
from stowplan.framework import Code, CycleState, Placement, PodGroupInfo, Status
from stowplan.runtime.groups.group_status import unschedulable
from stowplan.runtime.groups.members import GroupTrial
from stowplan.runtime.groups.placements import PlacementSearch, Try
from stowplan.runtime.profile.profile import Profile

_NO_DOMAIN = Status(Code.Unschedulable, "no node has the label")


class PreferredPlacements(PlacementSearch):
    """The domains of one label, within the domains that the group requires."""

    _whole = True

    def __init__(
        self, profile: Profile, group: PodGroupInfo, state: CycleState, key: str, *, in_parallel: bool = False
    ) -> None:
        super().__init__(profile, group, state, in_parallel=in_parallel)
        self._key = key

    def best(self, try_members: Try) -> GroupTrial | None:
        """The trial of the best domain in which all members fit; None without such a domain. `try_members` does not
        run PostFilter: nothing is evicted for a preference."""

        def whole(placement: Placement | None) -> GroupTrial:
            trial = try_members(placement)
            fits = trial.status.succeeded and len(trial.results) == sum(each.placed for each in trial.results)
            return trial if fits else trial._replace(status=unschedulable(), waiting_on_preemption=False)

        trial = self.run(whole)
        return trial if trial.status.succeeded else None

    def _generate(self) -> Status | None:
        """Split the required placements by the values of the label. If members run already, only their domain is
        offered, and none if there are several."""
        self.placements = (Placement("", self._profile.cluster.nodes.everything()),)
        if self._profile.cluster.release.has(TOPOLOGY_AWARE):
            problem = super()._generate()
            if problem is not None:
                return problem
        state = self._profile.cluster.pod_groups.get(self._group.namespace, self._group.name)
        used = set() if state is None else {self._domain(pod.node_name) for pod in state.scheduled.values()}
        domains: dict[str, list[int]] = {}
        for placement in self.placements:
            for _, info in placement.nodes.infos():
                value = info.labels.get(self._key)
                if value is not None and used <= {value}:
                    name = f"{placement.name}/{value}" if placement.name else value
                    domains.setdefault(name, []).append(info.slot)
        subset = self._profile.cluster.nodes.subset
        self.placements = [
            Placement(name, subset(np.array(slots, dtype=np.intp))) for name, slots in sorted(domains.items())
        ]
        return None if self.placements else _NO_DOMAIN

    def _domain(self, node_name: str) -> str | None:
        info = self._profile.cluster.nodes.get(node_name)
        return None if info is None else info.labels.get(self._key)
