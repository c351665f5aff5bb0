from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from tests.builders import World, away, fields, near, node, node_affinity, pod, term

from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.preemption.iterate import one_by_one
from stowplan.runtime.preemption.search import (
    NEVER,
    TERMINATING,
    eligibility,
    nodes_where_preemption_might_help,
    search,
)

ONE = {"requests": {"cpu": "1"}}
HIGH = {**ONE, "priority": 10}


def full(count: int, **more: Any) -> World:
    return World([node(f"n{i}", cpu=1) for i in range(count)], [pod(f"p{i}", f"n{i}", **ONE) for i in range(count)])


LEAVING = {
    "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]},
}


@pytest.mark.parametrize(
    ("victim", "preemptor", "expected"),
    [
        ({}, {}, ""),
        ({}, {"preemptionPolicy": "Never"}, NEVER),
        ({}, {"nominated": "n0"}, ""),
        (LEAVING, {"nominated": "n0"}, TERMINATING),
        (LEAVING, {}, ""),
        (LEAVING, {"nominated": "gone"}, ""),
        ({**LEAVING, "priority": 10}, {"nominated": "n0"}, ""),
        (LEAVING, {"nominated": "n0", "nodeSelector": {"no": "such"}}, ""),
    ],
)
def test_eligibility(victim: dict[str, Any], preemptor: dict[str, Any], expected: str) -> None:
    world = World([node("n0", cpu=1)], [pod("p", "n0", **{**ONE, **victim})])
    assert eligibility(world.diagnosis(pod("w", **HIGH, **preemptor))) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (HIGH, [0, 1, 3]),
        ({"requests": {"cpu": "2"}}, []),
        ({"affinity": away(term("kubernetes.io/hostname", "a"))}, [3]),
        ({"affinity": near(term("kubernetes.io/hostname", "b"))}, []),
        ({**HIGH, "affinity": node_affinity(fields("n0"), fields("n2"))}, [0]),
    ],
)
def test_nodes_where_evictions_may_help(shape: dict[str, Any], expected: list[int]) -> None:
    world = full(3)
    world.put_node(node("gone"))
    world.put_node(node("n3", cpu=1, labels={"kubernetes.io/hostname": "x"}))
    world.add_pod(pod("p3", "n3", **ONE, labels={"app": "a"}))
    world.cluster.remove_node("gone")
    world.put_node(node("n2", cpu=1, unschedulable=True))
    infos = world.cluster.nodes.infos
    names = [
        info.name
        for slot in nodes_where_preemption_might_help(world.diagnosis(pod("w", **shape)))
        if (info := infos[slot])
    ]
    assert sorted(names) == [f"n{i}" for i in expected]


def test_nothing_to_be_found() -> None:
    world = full(3)
    world.put_node(node("n2", cpu=1, unschedulable=True))
    found = search(world.diagnosis(pod("w", **ONE)), (10, 100))
    assert found.message == (
        "0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
        "2 No preemption victims found for incoming pod."
    )
    assert (found.node_name, found.victims, found.chosen) == ("", (), None)
    assert search(world.diagnosis(pod("w", **ONE)), None).message == found.message


def test_nowhere_to_look() -> None:
    found = search(full(2).diagnosis(pod("w", requests={"cpu": "2"}, priority=10)), (10, 100))
    assert found.message == "0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def test_errors_count_only_where_there_are_no_candidates() -> None:
    world = full(2)
    diagnosis = world.diagnosis(pod("w", **HIGH))
    world.cluster.remove_pod("default/p0")
    world.add_pod(pod("small", "n0"))
    assert search(diagnosis, None).node_name == "n1"
    world.cluster.remove_pod("default/p1")
    world.add_pod(pod("tiny", "n1"))
    for limit in (None, (10, 100)):
        with pytest.raises(CycleError, match='expected at least one victim pod on node "n'):
            search(diagnosis, limit)


@pytest.mark.parametrize(("limit", "count"), [(None, 30), ((10, 1), 3), ((10, 5), 5), ((100, 1), 30), ((0, 100), 30)])
def test_how_many_candidates_are_enough(limit: tuple[int, int] | None, count: int) -> None:
    found = search(full(30).diagnosis(pod("w", **HIGH)), limit)
    assert len(found.candidates) == len(found.tied) == count


def test_the_same_luck_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    world = full(40)
    diagnosis = world.diagnosis(pod("w", **HIGH))
    luck = world.rng.getstate()
    arithmetic = [search(diagnosis, (10, 3)) for _ in range(20)]
    assert len({found.node_name for found in arithmetic}) > 1
    world.rng.setstate(luck)
    module = import_module("stowplan.runtime.preemption.search")
    monkeypatch.setattr(
        module, "together", lambda diagnosis, demands, slots, enough: one_by_one(diagnosis, slots, enough)
    )
    for found in arithmetic:
        exact = search(diagnosis, (10, 3))
        assert (tuple(found.candidates), tuple(found.tied), found.chosen) == (
            tuple(exact.candidates),
            tuple(exact.tied),
            exact.chosen,
        )
