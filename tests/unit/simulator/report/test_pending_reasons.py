from typing import Any

from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod

TAINT = {"taints": [{"key": "k", "effect": "NoSchedule"}]}


def diagnose(run: Run, name: str) -> Any:
    return run.story(name).diagnosis.nodes_by_reason(run.simulation.engine.cluster.nodes)


def test_nodes_by_reason_are_those_that_the_message_counts() -> None:
    run = Run(node("a"), node("b"), node("c", **TAINT), node("d", cpu="1"), pod("p", **asking("5")))
    found = diagnose(run, "p")
    assert found == {"Insufficient cpu": ["a", "b", "d"], "node(s) had untolerated taint(s)": ["c"]}
    _, told = run.story("p").message.split(": ", 1)
    for reason, names in found.items():
        assert f"{len(names)} {reason}" in told
    assert run.story("p").diagnosis.main_reason == "Insufficient cpu"


def test_a_node_may_have_two_reasons() -> None:
    greedy = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5", "memory": "9Gi"}}}]}
    assert diagnose(Run(node("a"), pod("p", **greedy)), "p") == {
        "Insufficient cpu": ["a"],
        "Insufficient memory": ["a"],
    }


def test_nodes_that_were_not_looked_at() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    run = Run(node("a", cpu="1"), node("b"), node("c"), pod("p", affinity={"nodeAffinity": required}, **asking("3")))
    found = diagnose(run, "p")
    assert found.pop("Insufficient cpu") == ["a"]
    assert list(found.values()) == [["b", "c"]]


def test_a_pod_that_no_node_was_asked_about() -> None:
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]}
    story = Run(node("a"), pod("p", **claim)).story("p")
    assert story.diagnosis is None
    assert 'persistentvolumeclaim "missing" not found' in story.message
