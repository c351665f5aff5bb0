"""Walks of an engine with pod groups: gangs that come in any order, change, vanish, preempt and are preempted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace
from tests.builders import HOSTNAME, Json, away, only, pod, profile_config, term
from tests.property.engine_vocabulary import NODE_NAMES, object_of
from tests.property.engine_walk import STEPS, EngineWalk, Step
from tests.property.late_points_plugin import LatePointsPlugin

from stowplan import api
from stowplan.api import codec
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine.invariants import Overlooked
from stowplan.engine.invariants.checked_engine import CheckedEngine
from stowplan.framework import PodGroupInfo
from stowplan.queue import group_key
from stowplan.runtime import enable_everywhere
from stowplan.runtime.groups import GroupCycle

GROUPS = ("g1", "g2", "g3")
GATES: tuple[tuple[str, ...], ...] = (
    (),
    (TOPOLOGY_AWARE,),
    (WORKLOAD_PREEMPTION,),
    (TOPOLOGY_AWARE, WORKLOAD_PREEMPTION),
)
SHAPES: tuple[Json, ...] = (
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}},
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}},
    {"requests": {"cpu": "2"}, "labels": {"app": "b"}, "priority": 10},
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}, "affinity": away(term(HOSTNAME))},
    {"requests": {"cpu": "1"}, "labels": {"app": "a", "permit": "hold"}},
    {"requests": {"cpu": "1"}, "labels": {"app": "a", "reserve": "deny"}},
    {"requests": {"cpu": "1"}, "labels": {"app": "a", "bind": "fail"}},
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}, "schedulingGates": [{"name": "later"}]},
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}, "priority": 100},
)


@lru_cache
def settings(gates: tuple[str, ...], in_tree: bool) -> KubeSchedulerConfiguration:
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, GANG_SCHEDULING, *gates), True))
    if in_tree:
        return default_configuration(release)
    everywhere = {"multiPoint": {"enabled": [{"name": LatePointsPlugin.name}]}}
    first_to_bind = only("bind", LatePointsPlugin.name, "DefaultBinder")
    given = profile_config({**everywhere, **first_to_bind})
    known = frozenset((*IN_TREE_PLUGINS, LatePointsPlugin.name))
    return enable_everywhere(
        from_builtins(given, "config", known, release=release), {LatePointsPlugin.name: LatePointsPlugin}
    )


class GroupWalk(EngineWalk):
    """Steps with members and PodGroups besides those of other pods."""

    def __init__(
        self, grace: float = 0.0, gates: tuple[str, ...] = (), *, in_tree: bool = False, check_every: int = 1
    ) -> None:
        """`in_tree`: without plugins of others, so that gangs are bound without waiting at Permit."""
        self._gates = gates
        self._in_tree = in_tree
        super().__init__(grace)
        assert isinstance(self.engine, CheckedEngine)
        self.engine.check_every = check_every

    def configuration(self) -> KubeSchedulerConfiguration:
        return settings(self._gates, self._in_tree)

    def step_of(self, name: str) -> Callable[[Any, int, int], None]:
        return GROUP_STEPS[name][1]

    def add_member(self, shape: int, how: int) -> None:
        self._serial += 1
        given = {**SHAPES[shape % len(SHAPES)], "schedulingGroup": {"podGroupName": GROUPS[how % 3]}}
        on = NODE_NAMES[how % 5] if how % 16 == 5 else ""
        made = pod(f"m{self._serial}", on, **given)
        del made["metadata"]["uid"]
        self.world.put(codec.convert(api.Pod, made))

    def add_gang(self, shape: int, how: int) -> None:
        """All members at once, and their group before or after them."""
        size = how % 4 + 1
        for turn in range(2):
            if turn == shape % 2:
                self.put_group(how, size - (shape % 3 == 0))
        for _ in range(size):
            self.add_member(shape, how)

    def put_group(self, which: int, how: int) -> None:
        policy: Json = {"gang": {"minCount": how % 5}} if how % 5 else {"basic": {}}
        spec: Json = {"schedulingPolicy": policy, "priority": (0, 10, 50)[how % 3]}
        if how % 7 == 0:
            spec["disruptionMode"] = "PodGroup"
        if how % 4 == 3:
            spec["schedulingConstraints"] = {"topology": [{"key": "topology.kubernetes.io/zone"}]}
        metadata = {"name": GROUPS[which % 3], "namespace": "default"}
        known = self.world.get(api.PodGroup, GROUPS[which % 3], "default")
        if known is None:
            self.world.put(codec.convert(api.PodGroup, {"metadata": metadata, "spec": spec}))
        elif how % 3 == 0:
            self.world.delete(known)

    def end_gang(self, which: int, how: int) -> None:
        for each in self._pods():
            group = each.spec.scheduling_group
            if group is not None and group.pod_group_name == GROUPS[which % 3]:
                self.world.delete(each)

    def change_member(self, which: int, how: int) -> None:
        """Members lose their gates."""
        for each in self._pods():
            if each.spec.scheduling_gates and how % 2:
                self.world.put(replace(each, spec=replace(each.spec, scheduling_gates=())))

    # Rest
    def overlooked(self) -> list[str]:
        plain = [str(each) for each in self._all_overlooked() if group_key(each.queued.pod) is None]
        return plain

    def _all_overlooked(self) -> list[Overlooked]:
        from stowplan.engine.invariants import overlooked

        return [found for found in overlooked(self.engine) if not self._is_excused(found)]

    def problems(self) -> list[str]:
        return super().problems() + self.forgotten_groups()

    def forgotten_groups(self) -> list[str]:
        """Groups that would be scheduled now, and that only the unschedulable timeout wakes."""
        waiting: dict[Any, list[Any]] = {}
        groups = self.engine.cluster.pod_groups
        for queued in self.state.queue.unschedulable:
            if (key := group_key(queued.pod)) is not None:
                waiting.setdefault(key, []).append(queued)
        told = []
        for key, infos in waiting.items():
            pods = [queued.pod for queued in infos]
            names = {each.template.spec.scheduler_name for each in pods}
            if len(names) > 1 or any(each.terminating for each in pods):
                continue
            if not self._woken_by_events(infos):
                continue
            group = PodGroupInfo(*key, groups.rules(*key), pods)
            profile = self.engine.profiles[names.pop()]
            decision = self.engine.examine(GroupCycle(profile, group, spares_members=True, in_parallel=True).decide)
            if decision.result == "scheduled":
                told.append(f"group {key} waits, though it fits: {[each.pod.name for each in infos]}")
        return told

    def _woken_by_events(self, infos: list[Any]) -> bool:
        """Whether filters that announce everything rejected the members: the excuses of single pods hold here, too."""
        rejectors = set().union(*(queued.unschedulable_plugins for queued in infos))
        if any(len(queued.pod.labels) > 1 for queued in infos):
            return False  # Permit or Reserve of LatePointsPlugin may have held back the group in another placement.
        return rejectors <= {"NodeResourcesFit", "NodeUnschedulable", "TaintToleration"} and not self._released


GROUP_STEPS: dict[str, tuple[int, Callable[[Any, int, int], None]]] = {
    **STEPS,
    "add pod": (6, EngineWalk.add_pod),
    "add member": (10, GroupWalk.add_member),
    "add gang": (12, GroupWalk.add_gang),
    "put group": (6, GroupWalk.put_group),
    "end gang": (2, GroupWalk.end_gang),
    "change member": (3, GroupWalk.change_member),
}

__all__ = ["GATES", "GROUP_STEPS", "GroupWalk", "Step", "object_of"]
