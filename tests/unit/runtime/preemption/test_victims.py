from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, pod, selector

from stowplan.framework import Pod
from stowplan.runtime.preemption.victims import NEVER_STARTED_NANOSECONDS, Budgets, by_importance, started

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def make(world: World, *shapes: tuple[int, str]) -> list[Pod]:
    """Pods named a, b, c... with these priorities and start times."""
    return [
        world.pod(pod(name, "n", priority=priority, status={"startTime": start} if start else {}))
        for name, (priority, start) in zip("abcdefghijklmnopqrstuvwxyz", shapes, strict=False)
    ]


def names(pods: list[Pod]) -> str:
    return "".join(pod.name for pod in pods)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (EARLY, LATE),
        ("2026-01-01T00:00:00.25Z", "2026-01-01T00:00:00.5Z"),
        ("2026-01-01T01:00:00+02:00", EARLY),
        (LATE, ""),
    ],
)
def test_start_times_compare_as_times(earlier: str, later: str) -> None:
    assert started(earlier) < started(later)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-01T00:00:00"])
def test_what_is_no_time_counts_as_not_started(text: str) -> None:
    assert started(text) == NEVER_STARTED_NANOSECONDS


@pytest.mark.parametrize(
    ("shapes", "order"),
    [
        ([(0, EARLY), (5, LATE), (-1, EARLY)], "bac"),
        ([(0, LATE), (0, EARLY)], "ba"),
        ([(0, EARLY), (0, EARLY), (0, EARLY)], "abc"),
        ([(0, ""), (0, LATE)], "ba"),
        ([(0, ""), (0, ""), (0, "")], "cba"),
        ([(0, ""), (5, ""), (0, ""), (5, ""), (0, EARLY)], "dbeca"),
        # Beyond a dozen, ties end up as Go's quicksort leaves them.
        ([(0, "")] * 13, "lkjihafedcbmg"),
        ([(0, EARLY)] * 12 + [(1, EARLY)], "mgcdefahijklb"),
    ],
)
def test_order_of_importance(shapes: list[tuple[int, str]], order: str) -> None:
    assert names(by_importance(make(World(), *shapes))) == order


def test_only_pods_below_a_priority() -> None:
    assert names(by_importance(make(World(), (0, ""), (7, ""), (6, "")), 7)) == "ca"


def budget(world: World, name: str, allowed: int, disrupted: tuple[str, ...] = (), **labels: str) -> None:
    status: dict[str, Any] = {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, EARLY)}
    spec = {"selector": selector(**labels)} if labels else {"selector": {}}
    world.put("PodDisruptionBudget", name=name, namespace="default", spec=spec, status=status)


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], ("abcd", 0)),
        ([{"name": "x", "allowed": 0, "app": "web"}], ("abcd", 3)),
        ([{"name": "x", "allowed": 2, "app": "web"}], ("cabd", 1)),
        ([{"name": "x", "allowed": 0}], ("abcd", 0)),
        ([{"name": "x", "allowed": 0, "disrupted": ("a",), "app": "web"}], ("bcad", 2)),
        ([{"name": "x", "allowed": 1, "app": "web"}, {"name": "y", "allowed": 0, "tier": "b"}], ("bcad", 2)),
        ([{"name": "x", "allowed": 0, "app": "db"}], ("abcd", 0)),
    ],
)
def test_protected_pods_come_first(budgets: list[dict[str, Any]], expected: tuple[str, int]) -> None:
    world = World()
    pods = [world.pod(pod(name, "n", labels={"app": "web", "tier": name})) for name in "abc"]
    pods.append(world.pod(pod("d", "n")))
    for shape in budgets:
        budget(world, **shape)
    order, protected = Budgets(world.cluster).protected_first(pods)
    assert (names(order), protected) == expected


def test_budgets_of_other_namespaces_protect_nobody_and_changes_are_noticed() -> None:
    world = World()
    pods = [world.pod(pod("a", "n", labels={"app": "web"}, namespace="other"))]
    budgets = Budgets(world.cluster)
    budget(world, "x", 0, app="web")
    version = budgets.version
    assert budgets.protected_first(pods) == (pods, 0)
    spec, status = {"selector": selector(app="web")}, {"disruptionsAllowed": 0}
    world.put("PodDisruptionBudget", name="x", namespace="other", spec=spec, status=status)
    assert budgets.version != version
    assert budgets.protected_first(pods) == (pods, 1)
