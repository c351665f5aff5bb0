from typing import Any

import pytest
from tests.builders import make

from stowplan import api
from stowplan.simulator.disruption_counts import BudgetedPod, DisruptionCounts, Scale, scaled


def tally(**spec: Any) -> DisruptionCounts:
    return DisruptionCounts(make("PodDisruptionBudget", "b", namespace="default", spec={"selector": {}, **spec}))


def numbers(of: DisruptionCounts) -> tuple[int, int, int, int]:
    """Allowed, healthy, desired, expected."""
    status = of.status()
    return status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods


WEB = Scale("web", 5)


@pytest.mark.parametrize(
    ("spec", "healthy", "pending", "expected"),
    [
        ({"minAvailable": 2}, 3, 1, (1, 3, 2, 4)),
        ({"minAvailable": 4}, 3, 1, (0, 3, 4, 4)),
        ({"minAvailable": 0}, 3, 0, (3, 3, 0, 3)),
        ({"minAvailable": "50%"}, 4, 0, (1, 4, 3, 5)),
        ({"minAvailable": "100%"}, 5, 0, (0, 5, 5, 5)),
        ({"maxUnavailable": 1}, 5, 0, (1, 5, 4, 5)),
        ({"maxUnavailable": 1}, 4, 1, (0, 4, 4, 5)),
        ({"maxUnavailable": 9}, 2, 0, (2, 2, 0, 5)),
        ({"maxUnavailable": "50%"}, 5, 0, (3, 5, 2, 5)),
        ({"maxUnavailable": "0%"}, 5, 0, (0, 5, 5, 5)),
        ({}, 3, 0, (0, 3, 0, 0)),
    ],
)
def test_what_is_left(spec: dict[str, Any], healthy: int, pending: int, expected: tuple[int, ...]) -> None:
    counted = tally(**spec)
    for i in range(healthy + pending):
        assert counted.put(f"p{i}", BudgetedPod(i < healthy, WEB))
    assert numbers(counted) == expected


def test_nothing_is_left_where_nothing_is_expected() -> None:
    assert numbers(tally(minAvailable=0)) == (0, 0, 0, 0)
    idle = tally(maxUnavailable=1)
    idle.put("p", BudgetedPod(True, Scale("web", 0)))
    assert numbers(idle) == (0, 1, 0, 0)


def test_a_pod_counts_once_and_as_it_is() -> None:
    counted = tally(minAvailable=0)
    assert counted.put("p", BudgetedPod(False, None))
    assert not counted.put("p", BudgetedPod(False, None))
    assert counted.put("p", BudgetedPod(True, None))
    assert numbers(counted) == (1, 1, 0, 1)
    counted.remove("p")
    assert numbers(counted) == (0, 0, 0, 0)


def test_controllers_are_counted_for_as_long_as_they_have_pods() -> None:
    counted = tally(maxUnavailable="10%")
    counted.put("a", BudgetedPod(True, Scale("web", 10)))
    counted.put("b", BudgetedPod(True, Scale("web", 10)))
    counted.put("c", BudgetedPod(True, Scale("db", 3)))
    assert counted.status().expected_pods == 13
    counted.put("b", BudgetedPod(True, Scale("web", 20)))
    assert counted.status().expected_pods == 23
    counted.remove("b")
    counted.remove("c")
    assert counted.status().expected_pods == 20
    counted.remove("a")
    assert counted.status().expected_pods == 0


def test_pods_on_their_own_are_healthy_or_not_but_nobody_expects_them() -> None:
    counted = tally(maxUnavailable=1)
    counted.put("a", BudgetedPod(True, None))
    counted.put("b", BudgetedPod(True, Scale("web", 1)))
    assert numbers(counted) == (2, 2, 0, 1)


def test_controllers_that_nobody_knows_want_what_they_have() -> None:
    counted = tally(maxUnavailable=1)
    for name in "abc":
        counted.put(name, BudgetedPod(name != "c", Scale("rollout", None)))
    assert numbers(counted) == (0, 2, 2, 3)
    counted.remove("c")
    assert numbers(counted) == (1, 2, 1, 2)


def test_controllers_without_a_scale_leave_no_budget() -> None:
    counted = tally(maxUnavailable="100%")
    counted.put("a", BudgetedPod(True, WEB))
    counted.put("b", BudgetedPod(True, Scale("agent", None, exists=False)))
    assert counted.status().disruptions_allowed == 0
    counted.remove("b")
    assert counted.status().disruptions_allowed == 1


@pytest.mark.parametrize(
    ("amount", "total", "expected"),
    [(3, 10, 3), ("0%", 10, 0), ("30%", 10, 3), ("31%", 10, 4), ("1%", 1, 1), ("100%", 7, 7), ("050%", 3, 2)],
)
def test_percentages_are_rounded_up(amount: api.IntOrPercent, total: int, expected: int) -> None:
    assert scaled(amount, total) == expected
