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


def test_replicas_that_wait_are_told_apart() -> None:
    """A constraint reads a label whose values the controller gives out one by one."""
    index, host = "apps.kubernetes.io/pod-index", "kubernetes.io/hostname"
    spread = {
        "maxSkew": 1,
        "topologyKey": host,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {index: "1"}},
    }
    waiting = [pod(name, "1") | {"status": {"nominatedNodeName": name}} for name in ("n0", "n1")]
    newcomer = pod("new", "1", topologySpreadConstraints=[spread])
    for number, item in (("0", waiting[0]), ("1", waiting[1]), ("1", newcomer)):
        item["metadata"]["labels"] = {index: number}
    nodes = [
        {"metadata": {"name": name, "labels": {host: name}}, "status": {"allocatable": {"cpu": "9", "pods": "9"}}}
        for name in ("n0", "n1")
    ]
    verdict = Evaluator().line(msgspec.json.encode({"pod": newcomer, "nodes": nodes, "nominatedPods": waiting}))
    assert list(verdict["feasible"]) == ["n0"]
