from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.builders import World, node, pod, selector

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, error
from stowplan.runtime.preemption.demands import demands_of
from stowplan.runtime.preemption.iterate import CandidateSearch, one_by_one, together
from stowplan.runtime.preemption.search import nodes_where_preemption_might_help

ONE = {"requests": {"cpu": "1"}}


class Lost(Plugin):
    name = "Lost"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return error(f"lost {node.name}")


def both(world: World, enough: int, **shape: Any) -> tuple[CandidateSearch, CandidateSearch]:
    """What is found one by one and together, from the third node on."""
    diagnosis = world.diagnosis(pod("w", **{**ONE, "priority": 10, **shape}))
    slots = np.roll(nodes_where_preemption_might_help(diagnosis), -2)
    wanted = demands_of(world.profile, diagnosis.state, diagnosis.pod)
    assert wanted is not None
    return one_by_one(diagnosis, slots, enough), together(diagnosis, wanted, slots, enough)


def full(count: int, protected: tuple[int, ...] = (), **more: Any) -> World:
    """Nodes of one core with a pod each, some of which a budget protects."""
    pods = [pod(f"p{i}", f"n{i}", **ONE, labels={"app": "x" if i in protected else "y"}) for i in range(count)]
    world = World([node(f"n{i}", cpu=1) for i in range(count)], pods, **more)
    spec = {"selector": selector(app="x")}
    world.put("PodDisruptionBudget", name="b", namespace="default", spec=spec, status={"disruptionsAllowed": 0})
    return world


@pytest.mark.parametrize(
    ("protected", "enough", "expected"),
    [
        ((), 1, [2]),
        ((), 3, [2, 3, 4]),
        ((), 6, [2, 3, 4, 5, 0, 1]),
        ((2, 3), 1, [2, 3, 4]),
        ((2, 3), 2, [2, 3, 4]),
        ((2, 3), 4, [2, 3, 4, 5]),
        ((3,), 1, [2]),
        (tuple(range(6)), 1, [2, 3, 4, 5, 0, 1]),
        ((0, 2, 3, 4, 5), 2, [2, 3, 4, 5, 0, 1]),
    ],
)
def test_enough_is_enough_once_one_violates_nothing(
    protected: tuple[int, ...], enough: int, expected: list[int]
) -> None:
    for found in both(full(6, protected), enough):
        assert [candidate.info.slot for candidate in found.candidates] == expected


def test_why_there_are_no_candidates() -> None:
    world = full(4)
    world.cluster.remove_pod("default/p1")
    world.add_pod(pod("q", "n1", **ONE, priority=10))
    world.add_pod(pod("r", "n3", **ONE, priority=10))
    for found in both(world, 4, requests={"cpu": "1"}, priority=0):
        assert +found.failures == {"No preemption victims found for incoming pod": 4}
        assert not found.candidates
    world.put_node(node("n0", cpu=1, pods=0))
    world.put_node(node("n2", cpu=1, pods=0))
    for found in both(world, 4):
        expected = {"Insufficient cpu": 1, "Too many pods": 2, "No preemption victims found for incoming pod": 1}
        assert +found.failures == expected


def test_errors_are_told_in_the_order_of_nodes() -> None:
    for found in both(full(3, plugins={"Lost": Lost}), 3):
        assert not found.candidates
        assert [str(problem)[-7:] for problem in found.errors] == ["lost n2", "lost n0", "lost n1"]
