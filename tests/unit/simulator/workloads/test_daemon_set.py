from typing import Any

import pytest
from tests.builders import expressions, node_affinity
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload

from stowplan import api
from stowplan.api import codec
from stowplan.simulator.workloads.daemon_set import Suitability, daemon_tolerations

TAINT = {"key": "own", "value": "x", "effect": "NoSchedule"}
OWNER: dict[str, Any] = {"kind": "DaemonSet", "name": "agent", "uid": "d"}


def suits(item: Any, **spec: Any) -> bool:
    converted = codec.convert(api.PodSpec, spec)
    return Suitability(api.PodSpec(**{**_fields(converted), "tolerations": daemon_tolerations(converted)}))(item)


def _fields(spec: api.PodSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__struct_fields__}


@pytest.mark.parametrize(
    ("item", "spec", "suitable"),
    [
        (node("n"), {}, True),
        (node("n", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]), {}, True),
        (node("n", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]), {}, True),
        (node("n", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]), {}, False),
        (node("n", taints=[TAINT]), {}, False),
        (node("n", taints=[{**TAINT, "effect": "NoExecute"}]), {}, False),
        (node("n", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, True),
        (node("n", taints=[TAINT]), {"tolerations": [{"key": "own", "operator": "Exists"}]}, True),
        (node("n"), {"nodeSelector": {"disk": "ssd"}}, False),
        (node("n", labels={"disk": "ssd"}), {"nodeSelector": {"disk": "ssd"}}, True),
        (node("n"), {"affinity": node_affinity(expressions("disk", "Exists"))}, False),
        (node("n", labels={"disk": "ssd"}), {"affinity": node_affinity(expressions("disk", "Exists"))}, True),
        (node("n"), {"nodeName": "n"}, True),
        (node("n"), {"nodeName": "m"}, False),
    ],
)  # fmt: skip
def test_nodes_that_are_to_have_a_pod(item: Any, spec: dict[str, Any], suitable: bool) -> None:
    assert suits(item, **spec) is suitable


def test_an_unavailable_network_is_tolerated_by_those_on_the_host_network() -> None:
    cut_off = node("n", taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])
    assert not suits(cut_off)
    assert suits(cut_off, hostNetwork=True)


def test_every_suitable_node_gets_a_pod() -> None:
    stage = SimulatedCluster(node("n1"), node("n2", taints=[TAINT]), node("n3"), workload("DaemonSet", "agent"))
    fields = [_field(each) for each in stage.pods()]
    assert fields == [("n1",), ("n3",)]
    labels = dict(stage.pods()[0].metadata.labels)
    assert labels.pop("controller-revision-hash")
    assert labels == {"app": "agent", "pod-template-generation": "1"}
    tolerations = {(each.key, each.effect, each.toleration_seconds) for each in stage.pods()[0].spec.tolerations}
    assert ("node.kubernetes.io/not-ready", "NoExecute", None) in tolerations
    assert len(tolerations) == 6


def test_other_affinity_is_kept_and_what_nodes_are_required_is_replaced() -> None:
    affinity = node_affinity(
        expressions("kubernetes.io/os", "Exists"), preferred=[{"weight": 1, "preference": expressions("a", "Exists")}]
    )
    stage = SimulatedCluster(
        node("n1", labels={"kubernetes.io/os": "linux"}), workload("DaemonSet", "agent", pod={"affinity": affinity})
    )
    (made,) = stage.pods()
    assert _field(made) == ("n1",)
    assert made.spec.affinity is not None
    assert made.spec.affinity.node_affinity is not None
    assert len(made.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution) == 1


def test_a_new_node_gets_a_pod() -> None:
    stage = SimulatedCluster(workload("DaemonSet", "agent"))
    assert stage.names() == []
    assert list(stage.controllers.notes()) == ["DaemonSet default/agent: there is no node for it, so it has no pods"]
    stage.put(node("n1"))
    assert [_field(each) for each in stage.pods()] == [("n1",)]
    stage.put(node("n1", labels={"a": "b"}))
    assert len(stage.pods()) == 1
    assert list(stage.controllers.notes()) == []


def test_a_lost_pod_is_replaced_while_its_node_is_there() -> None:
    stage = SimulatedCluster(node("n1"), workload("DaemonSet", "agent"))
    (first,) = stage.names()
    stage.bind(first)
    stage.delete(first)
    (second,) = stage.names()
    assert second != first
    stage.bind(second)
    stage.world.delete(node("n1"))
    stage.settle()
    assert stage.names() == []


def test_a_pod_that_still_waits_for_its_node_goes_with_it() -> None:
    stage = SimulatedCluster(node("n1"), node("n2"), workload("DaemonSet", "agent"))
    stage.world.delete(node("n1"))
    stage.settle()
    assert [_field(each) for each in stage.pods()] == [("n2",)]


def test_nodes_that_have_a_pod_get_none() -> None:
    pending = pod("agent-b", owner=OWNER, affinity=node_affinity({"matchFields": [_name_field("n2")]}))
    stage = SimulatedCluster(
        *(node(f"n{i}") for i in (1, 2, 3)),
        pod("agent-a", "n1", owner=OWNER),
        pending,
        workload("DaemonSet", "agent", uid="d"),
    )
    assert len(stage.names()) == 3
    assert _field(stage.pods()[2]) == ("n3",)


def test_a_toleration_that_is_given_is_not_added_again() -> None:
    given = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    tolerations = daemon_tolerations(codec.convert(api.PodSpec, {"tolerations": [given]}))
    assert [each.toleration_seconds for each in tolerations if each.key == given["key"]] == [None]


def _name_field(name: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def _field(item: api.Pod) -> tuple[str, ...]:
    """The nodes that the pod insists on by name."""
    assert item.spec.affinity is not None
    assert item.spec.affinity.node_affinity is not None
    required = item.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    (term,) = required.node_selector_terms
    assert not term.match_expressions
    return term.match_fields[0].values
