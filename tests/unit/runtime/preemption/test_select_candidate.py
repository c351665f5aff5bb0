from __future__ import annotations

import numpy as np
import pytest
from tests.builders import World, node, pod

from stowplan.runtime.preemption.dry_run import PreemptionCandidate
from stowplan.runtime.preemption.select_candidate import best, costs_of

DAWN, NOON = "2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z"


def candidate(world: World, violations: int, *victims: tuple[int, str]) -> PreemptionCandidate:
    info = world.cluster.nodes.get("n")
    assert info is not None
    pods = [
        world.pod(pod(f"p{i}", "n", priority=priority, status={"startTime": start} if start else {}))
        for i, (priority, start) in enumerate(victims)
    ]
    return PreemptionCandidate(info, tuple(pods), violations)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        pytest.param([(1, (0, DAWN)), (0, (9, DAWN), (9, DAWN))], [1], id="fewest violations"),
        pytest.param([(0, (5, DAWN)), (0, (4, DAWN), (4, DAWN))], [1], id="lowest of the highest priorities"),
        pytest.param([(0, (5, DAWN), (4, DAWN)), (0, (5, DAWN), (3, DAWN))], [1], id="least sum"),
        pytest.param([(0, (-5, DAWN), (-5, DAWN)), (0, (-5, DAWN))], [1], id="negative priorities add up too"),
        pytest.param([(0, (0, DAWN)), (0, (0, NOON))], [1], id="latest start"),
        pytest.param([(0, (0, NOON), (0, DAWN)), (0, (0, NOON), (0, NOON))], [1], id="earliest of each counts"),
        pytest.param([(0, (1, NOON), (0, DAWN)), (0, (1, DAWN), (0, NOON))], [0], id="among the most important"),
        pytest.param([(0, (0, NOON)), (0, (0, ""))], [1], id="not started is latest"),
        pytest.param([(0, (0, DAWN)), (0, (0, DAWN)), (0, (1, DAWN))], [0, 1], id="ties"),
        pytest.param([(3, (0, DAWN))], [0], id="alone"),
    ],
)
def test_best(candidates: list[tuple[int, tuple[int, str]]], expected: list[int]) -> None:
    world = World([node("n")])
    made = [candidate(world, violations, *victims) for violations, *victims in candidates]
    assert best(costs_of(made)) == expected


def test_each_criterion_decides_only_between_those_left_by_the_ones_before() -> None:
    costs = np.array([[0, 0, 1, 0], [2, 2, 0, 3], [5, 4, 0, 0], [1, 1, 1, 1], [7, 9, 0, 0]])
    assert best(costs) == [1]


def test_no_candidates() -> None:
    assert costs_of([]).shape == (5, 0)
