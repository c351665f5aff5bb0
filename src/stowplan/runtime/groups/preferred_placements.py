"""Placements that a group prefers: one domain of a node label for all members, if there is one with room for all.

kube-scheduler has required topology alone; an annotation of the PodGroup names the labels that it prefers, the
narrowest first. A group that fits into no domain of any of them is scheduled as without the annotation. Labels are
nested: racks of one name in two zones are two domains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stowplan.config.feature_gates import TOPOLOGY_AWARE
from stowplan.framework import Code, CycleState, NodeInfo, Placement, PodGroupInfo, Status
from stowplan.runtime.groups.group_status import unschedulable
from stowplan.runtime.groups.members import GroupTrial
from stowplan.runtime.groups.placements import PlacementSearch, Try
from stowplan.runtime.profile.profile import Profile

_NO_DOMAIN = Status(Code.Unschedulable, "no node has the label")


class PreferredPlacements(PlacementSearch):
    """The domains of one label, within the domains of wider labels and within those that the group requires."""

    _whole = True

    def __init__(
        self,
        profile: Profile,
        group: PodGroupInfo,
        state: CycleState,
        keys: tuple[str, ...],
        *,
        in_parallel: bool = False,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`keys` are the label and those that are wider."""
        super().__init__(profile, group, state, in_parallel=in_parallel, clock=clock)
        self._keys = keys

    async def best(self, try_members: Try) -> GroupTrial | None:
        """The trial of the best domain in which all members fit; None without such a domain. `try_members` does not
        run PostFilter: nothing is evicted for a preference."""

        async def whole(placement: Placement | None) -> GroupTrial:
            trial = await try_members(placement)
            fits = trial.status.succeeded and len(trial.results) == sum(each.placed for each in trial.results)
            return trial if fits else trial._replace(status=unschedulable(), waiting_on_preemption=False)

        trial = await self.run(whole)
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
        nodes = self._profile.cluster.nodes
        running = () if state is None else [nodes.get(pod.node_name) for pod in state.scheduled.values()]
        used = {None if info is None else self._domain(info) for info in running}
        domains: dict[str, list[int]] = {}
        for placement in self.placements:
            for _, info in placement.nodes.infos():
                domain = self._domain(info)
                if domain is not None and used <= {domain}:
                    name = f"{placement.name}/{domain}" if placement.name else domain
                    domains.setdefault(name, []).append(info.slot)
        self.placements = [
            Placement(name, nodes.subset(np.array(slots, dtype=np.intp))) for name, slots in sorted(domains.items())
        ]
        return None if self.placements else _NO_DOMAIN

    def _domain(self, info: NodeInfo) -> str | None:
        """The values of the labels, the widest first; None for a node without the narrowest one."""
        if self._keys[0] not in info.labels:
            return None
        return "/".join(info.labels.get(key, "") for key in reversed(self._keys))
