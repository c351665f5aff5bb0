"""Explanations in slices: pieces are small, and the scheduler's kept answers survive them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.builders import HOSTNAME, World, away, node, pod, spread, term

from stowplan.framework import Explanation
from stowplan.insight import altered, leaving
from stowplan.insight.explain import explain
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.placed import explain_placed
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices, run
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.plan import Plan

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def cluster() -> World:
    nodes = [node(f"n-{number:02}", cpu="4", zone=f"z-{number % 3}") for number in range(40)]
    nodes += [node(f"t-{number}", cpu="9", taints=[TAINT], unschedulable=number == 0) for number in range(3)]
    pods = [
        pod(f"p-{number:03}", f"n-{number % 40:02}", labels={"app": "web"}, requests={"cpu": "1"})
        for number in range(80)
    ]
    return World(nodes, pods)


class Spies:
    """Counts calls of the costly steps in each piece."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now: Counter[str] = Counter()
        self.pieces: list[Counter[str]] = []
        for owner, name in (
            (Diagnosis, "run"),
            (Points, "order"),
            (FilterMatrix, "explain"),
            (leaving, "_fits_without"),
            (altered, "further_node"),
        ):
            patch.setattr(owner, name, self._counted(name, getattr(owner, name)))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.now[name] += 1
            return function(*args, **options)

        return counted

    def run(self, slices: Slices[Any]) -> Iterator[Counter[str]]:
        while True:
            self.now.clear()
            try:
                next(slices)
            except StopIteration:
                yield Counter(self.now)
                return
            yield Counter(self.now)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"topologySpreadConstraints": [spread(HOSTNAME, app="web"), spread(app="web")]},
        {"affinity": away(term(app="web"))},
        {"nodeSelector": {"zome": "z-1"}},
    ],
)
def test_a_piece_of_an_explanation_has_one_costly_step(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    world = cluster()
    new = world.pod(pod("new", labels={"app": "web"}, requests={"cpu": "5"}, **spec))
    spies = Spies(monkeypatch)
    pieces = list(spies.run(explain(world.profile, new, message="")))
    assert sum(piece["explain"] for piece in pieces) > 10
    for piece in pieces:
        assert piece["run"] + piece["further_node"] <= 1
        assert piece["explain"] <= 3
        assert piece["_fits_without"] <= 1


def test_a_piece_about_a_placed_pod_filters_or_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    world = cluster()
    placed = world.cluster.pods["default/p-000"]
    spies = Spies(monkeypatch)
    for piece in spies.run(explain_placed(world.profile, placed)):
        assert piece["run"] + piece["order"] <= 2
        assert not (piece["run"] and piece["order"])


def test_plans_survive_checks_of_altered_and_further_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = cluster()
    answer = explained(world)  # The first explanation takes the slot of the further node.
    assert {change.kind for each in answer.closest for change in each.changes} & {"uncordon", "untaint"}
    assert "add" in {each.change.kind for each in answer.proposals}
    small = [world.pod(pod(f"small-{number}", requests={"cpu": "1"})) for number in range(4)]
    for each in small[:3]:
        world.profile.decide(each)
    rebuilt: list[Plan] = []
    rebuild = Plan.rebuild
    monkeypatch.setattr(Plan, "rebuild", lambda plan, context: (rebuilt.append(plan), rebuild(plan, context)))
    explained(world)
    found = world.profile.decide(small[3])
    assert not rebuilt
    assert found.node_name == world.profile.decide_afresh(small[3]).node_name
    world.put_node(node("n-00", cpu="64", zone="z-0"))
    assert world.profile.decide(small[3]).node_name == "n-00"
    assert rebuilt


def explained(world: World) -> Explanation:
    return run(explain(world.profile, world.pod(pod("new", requests={"cpu": "3500m"})), top=60, message=""))
