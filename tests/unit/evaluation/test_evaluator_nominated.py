"""Which pending pods hold the room that they were nominated for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stowplan.evaluation import Evaluator


def pod(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}


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
    nominee = pod("other", "3", **spec) | {"status": {"nominatedNodeName": "n"}}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    case = {"pod": pod("new", "2"), "nodes": [node], "nominatedPods": [nominee]}
    verdict = Evaluator().line(msgspec.json.encode(case))
    assert list(verdict["feasible"]) == ([] if counted else ["n"])
