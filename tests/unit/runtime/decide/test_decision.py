"""The record tells all about a decision."""

import msgspec
from tests.builders import World, away, fields, node, node_affinity, pod, term

from stowplan.framework import DecisionRecord


def encoded(record: DecisionRecord) -> dict[str, object]:
    decoded: dict[str, object] = msgspec.json.decode(msgspec.json.encode(record))
    return decoded


def test_of_a_pod_that_fits() -> None:
    world = World([node("a", cpu=8), node("b"), node("c", unschedulable=True)])
    for _ in range(3):
        decision = world.decide(pod("p", requests={"cpu": 1}))
        record = decision.record(attempt=2)
        assert (record.node, record.attempt, record.nodes, record.message) == ("a", 2, 3, "")
        assert record.feasible == ("a", "b")
        assert (decision.feasible, decision.evaluated) == (2, 3)
        assert record.rejected["c"].plugin == "NodeUnschedulable"
        assert record.totals["a"] == sum(score.weighted for score in record.scores["a"].values())
        assert record.scores["a"]["TaintToleration"].weighted == 3 * record.scores["a"]["TaintToleration"].normalized


def test_of_a_pod_that_fits_nowhere() -> None:
    world = World([node("a"), node("b")], [pod("r", "a", priority=-1, requests={"cpu": 4})])
    told = encoded(world.decide(pod("p", requests={"cpu": 5})).record())
    assert told["rejected"] == {
        name: {"code": "UnschedulableAndUnresolvable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]}
        for name in "ab"
    }
    assert "feasible" not in told
    assert str(told["message"]).startswith("0/2 nodes are available: 2 Insufficient cpu. ")
    record = world.decide(pod("p", requests={"cpu": 4}, affinity=away(term("x")))).record()
    assert record.node == "b"


def test_of_evictions() -> None:
    world = World([node("a")], [pod("r", "a", priority=-1, requests={"cpu": 4})])
    preemption = world.decide(pod("p", requests={"cpu": 4})).record().preemption
    assert preemption is not None
    assert (preemption.chosen, preemption.tied, preemption.message) == ("a", ("a",), "")
    assert [(c.node, c.victims, c.pdb_violations) for c in preemption.candidates] == [("a", ("default/r",), 0)]


def test_of_a_pod_that_names_its_nodes() -> None:
    world = World([node("a"), node("b"), node("c")])
    record = world.decide(pod("p", affinity=node_affinity(fields("a"), fields("b")))).record()
    assert record.pre_filter_nodes == ("a", "b")
    assert record.feasible == ("a", "b")


def test_of_a_broken_cycle() -> None:
    record = World().decide(pod("p")).record()
    assert record.error == record.message == "no nodes available to schedule pods"
    assert encoded(record)["error"] == record.error


def test_of_a_pod_that_was_rejected_as_such() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
    record = World([node("a")]).decide(pod("p", volumes=volumes)).record()
    assert record.pre_filter is not None
    assert record.pre_filter.plugin == "VolumeRestrictions"
    assert record.rejected == {}


def test_funnel() -> None:
    nodes = [node(f"n{i}", cpu=1 if i < 5 else 4, unschedulable=i >= 15) for i in range(20)]
    record = World(nodes).decide(pod("p", requests={"cpu": 2})).record()
    assert [(stage.plugin, stage.remaining) for stage in record.funnel] == [
        ("NodeUnschedulable", 15),
        ("NodeResourcesFit", 10),
    ]
