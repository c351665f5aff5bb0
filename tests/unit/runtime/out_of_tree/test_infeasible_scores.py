"""Scores of nodes that are not feasible: kube-scheduler never requests them, so they must neither fail a decision nor
make it slow."""

from __future__ import annotations

import logging
from typing import Any, Literal

import numpy as np
import pytest
from tests.builders import World, away, node, pod, term

from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, Scores, Status, reject


class AfreshCount:
    """Counts the decisions of a world that no kept answer serves."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._made: Any = world.profile._decide_afresh
        monkeypatch.setattr(world.profile, "_decide_afresh", self._decide)

    def _decide(self, *args: Any, **more: Any) -> Any:
        self.count += 1
        return self._made(*args, **more)


def plugin(scope_: Literal["node", "node+pods"], *, vector: bool, own_filter: bool = True) -> type[Plugin]:
    """Rejects the node called broken, and has no valid score for it."""

    class Scoring(Plugin):
        name = "Scoring"
        scope = scope_

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject("broken") if own_filter and node.name == "broken" else None

        if vector:

            def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
                scores = np.zeros(len(nodes), dtype=np.int64)
                for position, info in nodes.infos():
                    scores[position] = -1 if info.name == "broken" else 50 + info.slot
                return scores
        else:

            def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
                return {"a": 40, "b": 60, "c": 50}[node.name]  # Raises for the broken one

    return Scoring


def world(kind: type[Plugin]) -> World:
    names = ["a", "broken", "b", "c"]
    return World([node(name, cpu=64) for name in names], plugins={"Scoring": kind})


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("scope", ["node", "node+pods"])
def test_invalid_scores_of_rejected_nodes_are_not_read(
    scope: Literal["node", "node+pods"],
    vector: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "stowplan")
    cluster = world(plugin(scope, vector=vector))
    afresh = AfreshCount(cluster, monkeypatch)
    for number in range(20):
        decision = cluster.decide(pod(f"p-{number}", requests={"cpu": 1}))
        assert (decision.error, decision.feasible) == (None, 3)
        cluster.add_pod(pod(f"p-{number}", decision.node_name, requests={"cpu": 1}))
    assert afresh.count == 0
    assert not caplog.records


def test_a_plugin_that_fails_for_nodes_of_other_rejections_is_reported_once_and_decides_without_kept_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The node is rejected by a plugin of cluster scope, which kept answers of a score cannot know."""
    caplog.set_level(logging.WARNING, "stowplan")
    cluster = world(plugin("node+pods", vector=True, own_filter=False))
    cluster.add_pod(pod("hermit", "broken", affinity=away(term("kubernetes.io/hostname", "p"))))
    afresh = AfreshCount(cluster, monkeypatch)
    for number in range(20):
        decision = cluster.decide(pod(f"p-{number}", labels={"app": "p"}, requests={"cpu": 1}))
        assert (decision.error, decision.feasible) == (None, 3)
    assert afresh.count == 1
    warnings = [record.getMessage() for record in caplog.records]
    assert len([each for each in warnings if "fails for nodes that are not feasible" in each]) == 1


def test_an_invalid_score_of_a_feasible_node_still_fails_the_attempt() -> None:
    cluster = world(plugin("node+pods", vector=True, own_filter=False))
    for number in range(4):
        decision = cluster.decide(pod(f"p-{number}", requests={"cpu": 1}))
        assert decision.error is not None
        assert "-1" in decision.message
