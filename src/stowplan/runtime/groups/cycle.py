"""The cycle of one pod group: members in order, placements, preemption, and a decision for all of them.

Upstream: pkg/scheduler/schedule_one_podgroup.go (scheduleOnePodGroup, podGroupCycle)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from stowplan.config.feature_gates import TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.framework import Code, Placement, Pod, PodGroupInfo
from stowplan.runtime.decide.pipeline import run_to_end
from stowplan.runtime.groups.group_status import GroupStatus, failure
from stowplan.runtime.groups.members import GroupTrial, MemberTrials
from stowplan.runtime.groups.placements import PlacementSearch
from stowplan.runtime.groups.preemption import CONSTRAINED, NOT_REGISTERED, GroupPreemption
from stowplan.runtime.groups.preferred_placements import PreferredPlacements
from stowplan.runtime.groups.results import (
    GroupCondition,
    GroupResult,
    MemberOutcome,
    condition_of,
    outcomes_of,
    result_of,
)
from stowplan.runtime.profile.profile import Profile

_PREEMPTION_PLUGIN = "DefaultPreemption"


class GroupDecision(NamedTuple):
    """The decision about a group: every member that found a node is to be bound, or none is."""

    group: PodGroupInfo
    result: GroupResult
    outcomes: list[MemberOutcome]
    """In the order of the members."""
    condition: GroupCondition
    victims: list[Pod]
    """Pods to evict for the group as a whole, the most important first."""
    trial: GroupTrial
    """The run that the decision follows."""
    search: PlacementSearch | None
    """The placements that were tried, with TopologyAwareWorkloadScheduling."""
    nominations: Mapping[str, str] = MappingProxyType({})
    """The nodes that members get once the victims of the group are gone, by uid. kube-scheduler nominates no node."""


def in_order(members: Iterable[Pod]) -> tuple[Pod, ...]:
    """Members as the cycle tries them: higher priority first, then in the order given, which is that of the queue."""
    return tuple(sorted(members, key=lambda pod: -pod.priority))


class GroupCycle:
    """Decides about one group.

    With `afresh`, members are decided without kept answers, and every decision has a diagnosis. `stale_affinity`
    reproduces kube-scheduler v1.36, which does not count required anti-affinity of earlier members on most nodes, and
    `stale_volumes` its sharing of ReadWriteOncePod claims among members. With `spares_members`, a group does not
    preempt its own running members. With `in_parallel`, placements are tried at once where possible; the decision then
    lacks the trials of placements that the group does not get. `clock` times the plugins of placements.
    """

    def __init__(
        self,
        profile: Profile,
        group: PodGroupInfo,
        *,
        afresh: bool = False,
        stale_affinity: bool = False,
        stale_volumes: bool = False,
        spares_members: bool = False,
        in_parallel: bool = False,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._profile = profile
        self._group = group
        self._spares_members = spares_members
        self._clock = clock
        self._in_parallel = in_parallel and not afresh and not stale_affinity and not stale_volumes
        self._fitting: GroupTrial | None = None
        """The last dry run of a preemption that succeeded: with exactly the victims gone."""
        self._release = profile.cluster.release
        self._members = MemberTrials(
            profile, group, afresh=afresh, stale_affinity=stale_affinity, stale_volumes=stale_volumes
        )

    def decide(self) -> GroupDecision:
        """The decision, without extenders. The cluster is left as it was."""
        return run_to_end(self._decide())

    async def decide_with_extenders(self) -> GroupDecision:
        """Like `decide`; suspends at each call of an extender. Until it ends, members may be on nodes: the cluster must
        be neither changed nor read."""
        self._members.calls_extenders = True
        return await self._decide()

    async def _decide(self) -> GroupDecision:
        with self._members:
            return await self._decide_members()

    async def _decide_members(self) -> GroupDecision:
        trial, search = await self._run(post_filter=True)
        victims: list[Pod] = []
        if self._release.has(WORKLOAD_PREEMPTION) and trial.status.code == Code.Unschedulable:
            preemption = GroupPreemption(
                self._profile.cluster, self._profile.budgets, self._group, self._dry_run, self._spares_members
            )
            status = await self._preempt(preemption)
            victims = preemption.victims
            if status.succeeded:
                trial = trial._replace(waiting_on_preemption=True)
            elif status.code == Code.Error:
                trial = trial._replace(status=status)
            else:
                trial = trial._replace(status=trial.status.with_reason(status.message))
        members = tuple(self._group.members)
        nominations: dict[str, str] = {}
        if victims and self._fitting is not None:
            nominations = {each.pod.uid: each.node_name for each in self._fitting.results if each.placed}
        outcomes = outcomes_of(trial, members)
        return GroupDecision(
            self._group, result_of(trial), outcomes, condition_of(trial), victims, trial, search, nominations
        )

    async def _run(self, *, post_filter: bool) -> tuple[GroupTrial, PlacementSearch | None]:
        def try_members(placement: Placement | None) -> Coroutine[Any, Any, GroupTrial]:
            return self._members.run(placement, post_filter=post_filter)

        parallel = self._in_parallel and self._members.repeats_refusals
        rules = self._group.rules
        keys = () if rules is None else rules.preferred_keys
        for i in range(len(keys)):
            level = PreferredPlacements(
                self._profile, self._group, self._members.state, keys[i:], in_parallel=parallel, clock=self._clock
            )
            trial = await level.best(lambda placement: self._members.run(placement, post_filter=False))
            if trial is not None:
                return trial, level
        if not self._release.has(TOPOLOGY_AWARE):
            return await try_members(None), None
        search = PlacementSearch(
            self._profile, self._group, self._members.state, in_parallel=parallel, clock=self._clock
        )
        return await search.run(try_members), search

    async def _dry_run(self) -> GroupStatus:
        trial = (await self._run(post_filter=False))[0]
        if trial.status.succeeded:
            self._fitting = trial
        return trial.status

    async def _preempt(self, preemption: GroupPreemption) -> GroupStatus:
        group = self._group
        # As in kube-scheduler, disabling the plugin at PostFilter alone has no effect.
        if _PREEMPTION_PLUGIN not in self._profile.plugin_names:
            return GroupStatus(Code.Unschedulable, "", (NOT_REGISTERED,))
        if group.rules is None:
            return failure(f'failed to get pod group object: podgroup.scheduling.k8s.io "{group.name}" not found')
        if group.rules.topology_key:
            return GroupStatus(Code.Unschedulable, "", (CONSTRAINED,))
        return await preemption.run()
