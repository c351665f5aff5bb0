"""Pod groups that change, vanish and flap, or come in great numbers: nothing is left behind, and other pods go on."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import Json, make, member, node, pod
from tests.builders.engine_host import Host
from tests.unit.engine.grouped import CPU, bound, condition, group, host, low, members

from stowplan import api
from stowplan.api.pod_group import COSCHEDULING_LABEL
from stowplan.config import IN_TREE_PLUGINS, from_builtins
from stowplan.config.feature_gates import COSCHEDULING_GATES, GANG_SCHEDULING, GENERIC_WORKLOAD, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST
from stowplan.engine.group_cycles import GroupSchedulingCycles
from stowplan.framework import Bind, Evict, Failure
from stowplan.queue import PodGroupQueue

LARGE: Json = {"requests": {"cpu": "64"}}


def parts(made: Host) -> tuple[GroupSchedulingCycles, PodGroupQueue]:
    cycles, queue = made.engine._cycles, made.state.queue
    assert isinstance(cycles, GroupSchedulingCycles)
    assert isinstance(queue, PodGroupQueue)
    return cycles, queue


def check_nothing_is_left(made: Host) -> None:
    cycles, queue = parts(made)
    assert list(made.engine.cluster.pod_groups) == []
    assert queue._groups == {}
    assert cycles._victims == {}
    assert cycles._conditions._running == {}


def test_members_that_flap_end_as_a_whole_gang() -> None:
    random = Random(7)
    made = host(node("n", cpu=4), group(min_count=4))
    present: dict[str, Json] = {}
    for step in range(300):
        name = f"g-{random.randrange(4)}"
        if name in present:
            made.delete(present.pop(name))
        else:
            present[name] = member(name, **CPU, metadata={"uid": f"{name} {step}"})
            made.put(present[name])
        if random.random() < 0.3:
            made.schedule()  # The engine checks that it completes no part of a gang.
    for i in range(4):
        if f"g-{i}" not in present:
            present[f"g-{i}"] = member(f"g-{i}", **CPU, metadata={"uid": f"last {i}"})
            made.put(present[f"g-{i}"])
    made.advance(60)
    assert sorted(bound(made)) == [f"g-{i}" for i in range(4)]
    made.delete(group(min_count=4), *present.values())
    made.schedule()
    check_nothing_is_left(made)


@pytest.mark.parametrize("group_first", [True, False])
@pytest.mark.parametrize("gates", [(GANG_SCHEDULING,), (GANG_SCHEDULING, WORKLOAD_PREEMPTION)])
def test_a_group_that_vanishes_while_it_preempts_leaves_nothing(group_first: bool, gates: tuple[str, ...]) -> None:
    made = host(node("n", cpu=4), *low(4), gates=gates, grace=30.0)
    items: list[Any] = [group(min_count=3, priority=10), *members(3, priority=10)]
    made.put(*items)
    made.schedule()
    assert [each for each in made.done if isinstance(each, Evict)]
    assert parts(made)[0]._victims
    made.delete(*(items if group_first else items[::-1]))
    made.schedule()
    check_nothing_is_left(made)
    made.advance(60)
    made.put(pod("plain", **CPU))
    made.schedule()
    assert "plain" in bound(made)


def test_ten_thousand_groups_hold_up_no_pod() -> None:
    """Half of them wait for a member, half do not fit."""
    made = host(*(node(f"n{i}", cpu=4) for i in range(4)), check_invariants=False)
    number = 10_000
    for i in range(number):
        made.engine.put(group(f"g{i}", 1 + i % 2))
    made.put(*(member(f"g{i}-0", f"g{i}", **LARGE) for i in range(number // 10)))
    made.put(pod("plain", **CPU))
    made.schedule()
    assert sorted(bound(made)) == ["plain"]
    assert not made.engine.schedule_one()
    for i in range(number):
        made.engine.remove(group(f"g{i}", 1 + i % 2))
    made.delete(*(member(f"g{i}-0", f"g{i}", **LARGE) for i in range(number // 10)))
    check_nothing_is_left(made)


def test_a_member_that_arrives_costs_no_look_at_the_others() -> None:
    class Members(dict[str, Any]):
        looks = 0

        def values(self) -> Any:
            Members.looks += 1
            return super().values()

    made = host(node("n", cpu=4), group(), *members(2, **LARGE))
    made.schedule()
    queued = parts(made)[1]._groups["default", "g"]
    queued.members = Members(queued.members)
    made.put(*members(50, **LARGE)[2:])
    assert Members.looks == 0
    assert len(queued.members) == 50


@pytest.mark.parametrize("length", [1, 63, 253])
def test_names_at_their_limits(length: int) -> None:
    name = ("a" * 63 + ".") * 3 + "a" * 61 if length == 253 else "a" * length
    assert len(name) == length
    made = host(node("n", cpu=4), group(name, 2), *(member(f"{i}{name[1:]}", name, **CPU) for i in range(2)))
    made.schedule()
    assert len(bound(made)) == 2
    assert condition(made, name) == ("True", "Scheduled", "")


@pytest.mark.parametrize("minimum", [2**31 - 1, 3])
def test_a_minimum_above_the_members_waits_without_attempts(minimum: int) -> None:
    made = host(node("n", cpu=4), group(min_count=minimum), *members(2), pod("plain", **CPU))
    made.schedule()
    assert sorted(bound(made)) == ["plain"]
    assert not made.engine.schedule_one()
    assert condition(made) is None


def test_a_podgroup_that_changes_again_and_again() -> None:
    """As a custom resource may: the last minimum counts."""
    made = host(node("n", cpu=4), *members(3))
    for minimum in (5, 4, None, 9, 1, 4, 3):
        made.put(group(min_count=minimum))
    made.schedule()
    assert sorted(bound(made)) == ["g-0", "g-1", "g-2"]


def labelled(name: str, label: str | None) -> Json:
    return pod(name, labels={COSCHEDULING_LABEL: label} if label else {}, **CPU)


def coscheduling_host(**min_members: int) -> Host:
    groups = [make("CoschedulingPodGroup", name, "default", spec={"minMember": n}) for name, n in min_members.items()]
    return host(node("n", cpu=8), *groups, gates=tuple(COSCHEDULING_GATES))


def group_members(made: Host) -> dict[str, list[str]]:
    groups = made.engine.cluster.pod_groups
    return {
        name: sorted(each.name for each in state.all.values())
        for namespace, name in groups
        if (state := groups.get(namespace, name)) is not None
    }


@pytest.mark.parametrize("label", ["other", None])
def test_a_pending_member_follows_its_label(label: str | None) -> None:
    made = coscheduling_host(g=3, other=1)
    made.put(labelled("a", "g"), labelled("b", "g"))
    made.schedule()
    made.put(labelled("a", label), labelled("c", "g"))
    made.schedule()
    assert sorted(bound(made)) == ["a"]
    assert group_members(made) == {"g": ["b", "c"], **({"other": ["a"]} if label else {})}
    made.put(labelled("a-2", "g"))
    made.schedule()
    assert len(bound(made)) == 4


def test_a_pod_that_gets_a_label_waits_for_its_gang() -> None:
    made = coscheduling_host(g=2)
    made.put(pod("a", requests={"cpu": "64"}))
    made.schedule()
    made.put(labelled("a", "g"))
    made.schedule()
    assert made.engine.queue_counts()["gated"] == 1


def test_a_running_member_without_its_label_counts_no_more() -> None:
    """Else a gang of the same name would run with one member too few."""
    made = coscheduling_host(g=2)
    made.put(labelled("a", "g"), labelled("b", "g"))
    made.schedule()
    running = made.world.get(api.Pod, "a", "default")
    assert running is not None
    made.put(replace(running, metadata=replace(running.metadata, labels={})))
    assert group_members(made) == {"g": ["b"]}
    made.delete(*(labelled(name, "g") for name in "ab"))
    assert group_members(made) == {}
    made.put(labelled("c", "g"))
    made.schedule()
    assert bound(made) == {}


@pytest.mark.parametrize("fails", [False, True])
def test_a_label_that_changes_while_its_pod_is_bound_counts_afterwards(fails: bool) -> None:
    made = coscheduling_host(g=2, other=1)
    made.put(labelled("a", "g"), labelled("b", "g"))
    assert made.engine.schedule_one()
    made.take()
    made.put(labelled("a", "other"))
    assert group_members(made) == {"g": ["a", "b"]}
    for instruction in [each for each in made.open if isinstance(each, Bind)]:
        made.do(instruction, Failure("conflict", "Conflict") if fails else ...)
    made.advance(30)
    assert sorted(bound(made)) == (["a"] if fails else ["a", "b"])
    assert group_members(made) == {"g": ["b"], "other": ["a"]}


def host_with_the_plugin(*items: Any, gates: Iterable[str]) -> Host:
    """An engine with gates of groups and the plugin Coscheduling."""
    one = [{"name": "Coscheduling"}]
    sort = {"enabled": one, "disabled": [{"name": "*"}]}
    profile = {"schedulerName": "default-scheduler", "plugins": {"queueSort": sort, "multiPoint": {"enabled": one}}}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    release = LATEST.with_gates(dict.fromkeys(gates, True))
    config = from_builtins(
        {**kind, "profiles": [profile]}, "config", (*IN_TREE_PLUGINS, "Coscheduling"), release=release
    )
    return Host(*items, make("CoschedulingPodGroup", "g", "default", spec={"minMember": 4}), config=config)


def test_the_plugin_coscheduling_handles_the_groups_of_its_profile() -> None:
    """Although labels may name groups of the pod group cycle."""
    made = host_with_the_plugin(node("n", cpu=3), gates=COSCHEDULING_GATES)
    made.put(*(labelled(name, "g") for name in "abcd"))
    attempts = sum(made.engine.schedule_one() for _ in range(20))
    assert attempts == 4
    assert group_members(made) == {}
    made.put(node("more", cpu=1))
    made.advance(30)
    assert len(bound(made)) == 4


def test_a_gang_with_the_label_of_the_plugin_coscheduling_waits_for_an_event() -> None:
    items = [member(name, labels={COSCHEDULING_LABEL: "g"}, **CPU) for name in "abcd"]
    made = host_with_the_plugin(node("n", cpu=3), group(min_count=4), *items, gates=(GENERIC_WORKLOAD, GANG_SCHEDULING))
    assert sum(made.engine.schedule_one() for _ in range(20)) == 1
    assert bound(made) == {}
    made.put(node("more", cpu=1))
    made.advance(30)
    assert len(bound(made)) == 4
