"""Which pending pods hold the room that they were nominated for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import HOSTNAME, node, pod, spread

from stowplan.evaluation import Evaluator


@pytest.mark.parametrize(
    ("spec", "counted"),
    [
        ({}, True),
        ({"schedulerName": "somebody-else"}, False),
        ({"schedulingGates": [{"name": "example.com/wait"}]}, False),
    ],
    ids=["pending", "pod of another scheduler", "gated pod"],
)
def test_only_pods_in_the_queue_hold_room(spec: dict[str, Any], counted: bool) -> None:
    nominee = pod("other", nominated="n", requests={"cpu": 3}, **spec)
    case = {"pod": pod("new", requests={"cpu": 2}), "nodes": [node("n", 4)], "nominatedPods": [nominee]}
    verdict = Evaluator().line(msgspec.json.encode(case))
    assert list(verdict["feasible"]) == ([] if counted else ["n"])


def test_replicas_that_wait_are_told_apart() -> None:
    """A constraint reads a label whose values the controller gives out one by one."""
    index = "apps.kubernetes.io/pod-index"
    rule = spread(HOSTNAME, labelSelector={"matchLabels": {index: "1"}})
    waiting = [pod(f"w{number}", nominated=f"n{number}", labels={index: number}) for number in "01"]
    newcomer = pod("new", labels={index: "1"}, topologySpreadConstraints=[rule])
    nodes = [node("n0"), node("n1")]
    verdict = Evaluator().line(msgspec.json.encode({"pod": newcomer, "nodes": nodes, "nominatedPods": waiting}))
    assert list(verdict["feasible"]) == ["n0"]
