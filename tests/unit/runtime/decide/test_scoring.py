from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.builders import World, node, pod

from stowplan.framework import Code, CycleState, Nodes, Pod, PodTemplate, Scores, Status
from stowplan.plugins.base import InTreePlugin, SharedScorer
from stowplan.runtime.decide.scoring import Summed, Weighted, run_pre_scores
from stowplan.runtime.points.cycle_error import CycleError


class Team:
    """Scores every node 1 for the part "one" and 10 for "ten"."""

    def __init__(self) -> None:
        self.calls: list[dict[str, int]] = []
        self.ready = True

    def total(self, template: PodTemplate, nodes: Nodes, weights: Mapping[str, int]) -> NDArray[Any] | None:
        self.calls.append(dict(weights))
        total = weights.get("one", 0) + 10 * weights.get("ten", 0)
        return np.full(len(nodes), total, dtype=np.int32) if self.ready else None


class Member(InTreePlugin):
    def __init__(self, points: int, team: Team | None = None, part: str = "") -> None:
        self.points = points
        self.team = None if team is None else (team, part)

    def shared_scorer(self) -> tuple[SharedScorer, str] | None:
        return self.team

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        return np.full(len(nodes), self.points, dtype=np.int64)


@pytest.mark.parametrize("ready", [True, False])
def test_a_team_is_asked_once(ready: bool) -> None:
    world, team = World([node("a"), node("b")]), Team()
    team.ready = ready
    summed = Summed(
        [Weighted(Member(1, team, "one"), 2), Weighted(Member(100), 1), Weighted(Member(10, team, "ten"), 3)]
    )
    total = summed.total(CycleState(), world.pod(pod("p")), world.cluster.nodes.everything())
    assert total is not None
    assert total.tolist() == [132, 132]
    assert team.calls == [{"one": 2, "ten": 3}]


def test_nobody_to_ask() -> None:
    world = World([node("a")])
    assert Summed([]).total(CycleState(), world.pod(pod("p")), world.cluster.nodes.everything()) is None


class Answering(InTreePlugin):
    def __init__(self, name: str, answer: Status | None) -> None:
        self.name = name  # type: ignore[misc]
        self.answer = answer
        self.asked = 0

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        self.asked += 1
        return self.answer


def test_pre_score() -> None:
    world, state = World([node("a")]), CycleState()
    newcomer, nodes = world.pod(pod("p")), world.cluster.nodes.everything()
    plugins = [
        Answering("Silent", None),
        Answering("Content", Status(Code.Success)),
        Answering("Absent", Status(Code.Skip)),
        Answering("Unconcerned", None),
    ]
    state.skip_score |= {"Unconcerned"}
    run_pre_scores(plugins, state, newcomer, nodes)
    assert state.skip_score == {"Absent", "Unconcerned"}
    assert [plugin.asked for plugin in plugins] == [1, 1, 1, 0]
    with pytest.raises(CycleError, match="too bad"):
        run_pre_scores([Answering("Failing", Status(Code.Error, "too bad"))], state, newcomer, nodes)
