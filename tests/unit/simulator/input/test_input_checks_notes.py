from typing import Any

from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.simulator.input import Origin
from stowplan.simulator.input.input_checks import notes

VOLUMES: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def told(*items: Any) -> list[str]:
    return list(notes([(item, Origin("f.yaml")) for item in items], from_cluster=True))


def test_claims_that_nobody_has() -> None:
    missing = "pods refer to objects that are not in the input: 2 PersistentVolumeClaims (x/data, y/data)"
    template = workload("Deployment", "web", namespace="y", pod=VOLUMES)
    assert told(pod("a", namespace="x", **VOLUMES), pod("b", namespace="x", **VOLUMES), template) == [missing]


def test_claims_that_are_there_or_come_to_be() -> None:
    assert told(pod("a", namespace="x", **VOLUMES), make("PersistentVolumeClaim", "data", namespace="x")) == []
    claims = [{"metadata": {"name": "data"}}]
    assert told(workload("StatefulSet", "db", volumeClaimTemplates=claims, pod=VOLUMES)) == []
    assert told(pod("a", volumes=[{"name": "e", "ephemeral": {}}])) == []


def test_claims_of_pods_that_need_no_placing() -> None:
    assert told(node("n1"), pod("a", "n1", **VOLUMES)) == []
    assert told(pod("a", status={"phase": "Succeeded"}, **VOLUMES)) == []


def test_claims_on_devices_that_nobody_has() -> None:
    named = {"resourceClaims": [{"name": "g", "resourceClaimName": "gpu"}]}
    made = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpu"}]}
    template = workload("Deployment", "web", namespace="y", pod=made)
    assert told(pod("a", namespace="x", **named), template) == [
        "pods refer to objects that are not in the input: 1 ResourceClaim (x/gpu)",
        "pods refer to objects that are not in the input: 1 ResourceClaimTemplate (y/gpu)",
    ]
    there = (make("ResourceClaim", "gpu", namespace="x"), make("ResourceClaimTemplate", "gpu", namespace="y"))
    assert told(pod("a", namespace="x", **named), template, *there) == []


def test_nodes_that_are_missing() -> None:
    assert told(node("n1"), pod("a", "n1"), pod("b", "n2"), pod("c", "n2"), pod("d")) == [
        "pods run on nodes that are not in the input: 1 node (n2)"
    ]


def test_nodes_without_room() -> None:
    assert told(make("Node", "n1"), make("Node", "n2", status={"capacity": {"pods": "3"}}), node("n3")) == [
        'no pod fits, since status.allocatable has no "pods": 1 node (n1)'
    ]


def test_in_files_only_nodes_without_room_are_noted() -> None:
    objects = [(item, Origin("f.yaml")) for item in (pod("a", "gone", **VOLUMES), make("Node", "n1"))]
    assert list(notes(objects)) == ['no pod fits, since status.allocatable has no "pods": 1 node (n1)']
