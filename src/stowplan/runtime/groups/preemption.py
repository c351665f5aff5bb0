"""Preemption for a group as a whole: the least important units that have to go so that the group can run.

A unit is a pod, or all pods of a group whose disruptionMode is PodGroup.

Upstream: pkg/scheduler/framework/preemption/podgrouppreemption.go, types.go
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from stowplan.cache import Cluster, Trial
from stowplan.framework import Code, NodeInfo, Pod, PodGroupInfo
from stowplan.framework.pod_group import group_name
from stowplan.runtime.decide.sampling import zone_interleaved
from stowplan.runtime.groups.group_status import SUCCESS, GroupStatus
from stowplan.runtime.preemption.search import NEVER
from stowplan.runtime.preemption.victims import Budgets, started

NO_VICTIMS = "No preemption victims found for incoming preemptor"
NOT_REGISTERED = "default preemption plugin is not registered, workload aware preemption is disabled"
CONSTRAINED = "workload aware preemption is not supported for pod groups with scheduling constraints"


class Unit:
    """Pods that are evicted together."""

    __slots__ = ("_in_group", "_start", "pods", "priority")

    def __init__(self, pod: Pod, info: NodeInfo, priority: int) -> None:
        self.pods: list[tuple[Pod, NodeInfo]] = [(pod, info)]
        self.priority = priority
        self._in_group = bool(group_name(pod))
        self._start = started(pod.start_time)

    @property
    def rank(self) -> tuple[int, bool, int, int]:
        """More important units are lower. The start is that of the first pod; the size counts for groups only."""
        return -self.priority, not self._in_group, -len(self.pods) if self._in_group else 0, self._start


class GroupPreemption:
    """Searches for victims. `fits` tries the group on the cluster as it is, without PostFilter."""

    def __init__(
        self,
        cluster: Cluster,
        budgets: Budgets,
        group: PodGroupInfo,
        fits: Callable[[], Coroutine[Any, Any, GroupStatus]],
        spares_members: bool = False,
    ) -> None:
        """With `spares_members`, members of the group are not victims."""
        self._cluster = cluster
        self._budgets = budgets
        self._group = group
        self._fits = fits
        self._spares_members = spares_members
        self.victims: list[Pod] = []
        """The most important first."""

    async def run(self) -> GroupStatus:
        """Success with `victims`, or the reason why there are none."""
        if any(pod.spec.preemption_policy == "Never" for pod in self._group.members):
            return GroupStatus(Code.Unschedulable, "", (NEVER,))
        priority = 0 if self._group.rules is None else self._group.rules.priority
        units = [unit for unit in self._units() if unit.priority < priority]
        if not units:
            return GroupStatus(Code.UnschedulableAndUnresolvable, "", (NO_VICTIMS,))
        with Trial(self._cluster) as trial:
            for unit in units:
                _remove(trial, unit)
            status = await self._fits()
            if not status.succeeded:
                return status
            lasting = await self._reprieve(trial, _by_importance(units))
        self.victims = [pod for unit in _by_importance(lasting) for pod, _ in unit.pods]
        return SUCCESS

    async def _reprieve(self, trial: Trial, units: list[Unit]) -> list[Unit]:
        """The units that have to go. Those whose eviction violates a PodDisruptionBudget are put back first."""
        allowed: dict[int, int] = {}
        violating = {id(unit) for unit in units if any(self._violates(pod, allowed) for pod, _ in unit.pods)}
        lasting = []
        for unit in sorted(units, key=lambda unit: id(unit) not in violating):
            for pod, _ in unit.pods:
                trial.restore(pod)
            if not (await self._fits()).succeeded:
                _remove(trial, unit)
                lasting.append(unit)
        return lasting

    def _violates(self, pod: Pod, allowed: dict[int, int]) -> bool:
        """Whether the eviction violates a budget. `allowed` counts down; budgets after the violated one are spared."""
        for budget in self._budgets.matching(pod):
            left = allowed[id(budget)] = allowed.get(id(budget), budget.status.disruptions_allowed) - 1
            if left < 0:
                return True
        return False

    def _units(self) -> list[Unit]:
        """All pods on nodes as units, in the order of nodes."""
        cluster = self._cluster
        groups: dict[str, Unit] = {}
        units: list[Unit] = []
        for slot in zone_interleaved(cluster.nodes):
            info = cluster.nodes.infos[slot]
            for pod in () if info is None else info.pods.values():
                assert info is not None
                if self._spares_members and (pod.namespace, group_name(pod)) == self._group[:2]:
                    continue
                rules = cluster.pod_groups.rules_of(pod) if group_name(pod) else None
                if rules is None or not rules.disrupted_as_one:
                    units.append(Unit(pod, info, pod.priority))
                elif rules.uid in groups:
                    groups[rules.uid].pods.append((pod, info))
                else:
                    groups[rules.uid] = unit = Unit(pod, info, rules.priority)
                    units.append(unit)
        return units


def _remove(trial: Trial, unit: Unit) -> None:
    for pod, info in unit.pods:
        trial.remove(pod, info)


def _by_importance(units: Iterable[Unit]) -> list[Unit]:
    """Units of equal rank stay in the order of nodes."""
    return sorted(units, key=lambda unit: unit.rank)
