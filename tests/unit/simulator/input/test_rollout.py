from typing import Any

import pytest
from tests.unit.simulator.simulated_cluster import pod, workload

from stowplan.simulator.input.rollout import Dependents, has_same_template

BASE: dict[str, Any] = {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
STORED: dict[str, Any] = {
    "containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}


def requests(**amounts: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": amounts}]}


@pytest.mark.parametrize(
    ("stored", "given", "same"),
    [
        (STORED, BASE, True),
        (BASE, {**BASE, "nodeSelector": {"a": "b"}}, False),
        ({**BASE, "nodeSelector": {"a": "b"}}, BASE, False),
        ({**BASE, "terminationGracePeriodSeconds": 60}, BASE, False),
        ({**BASE, "schedulerName": "mine"}, BASE, False),
        (requests(requests={"cpu": "1500m"}), requests(requests={"cpu": 1.5}), True),
        (requests(requests={"cpu": "1500m"}), requests(requests={"cpu": "2"}), False),
        (requests(limits={"cpu": "1"}), requests(limits={"cpu": "1"}, requests={"cpu": "1"}), True),
        ({"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "1000m"}}, True),
        ({"initContainers": [{"name": "i", "restartPolicy": "Always"}]}, {"initContainers": [{"name": "i"}]}, False),
    ],
)
def test_templates_are_compared_by_what_they_mean(stored: dict[str, Any], given: dict[str, Any], same: bool) -> None:
    old, new = (workload("Deployment", "web", pod=each) for each in (stored, given))
    assert has_same_template(old, new) is same


def test_labels_count_annotations_do_not() -> None:
    def deployment(**metadata: Any) -> Any:
        return workload("Deployment", "web", template={"metadata": metadata, "spec": {}})

    assert has_same_template(deployment(annotations={"restarted": "now"}), deployment())
    assert not has_same_template(deployment(labels={"a": "b"}), deployment())


def test_pods_below_a_workload() -> None:
    deployment: dict[str, Any] = {"kind": "Deployment", "name": "web", "uid": "d"}
    replica_set: dict[str, Any] = {"kind": "ReplicaSet", "name": "web-1", "uid": "rs"}
    dependents = Dependents(
        [
            workload("ReplicaSet", "web-1", uid="rs", owner=deployment),
            pod("a", uid="a", owner=replica_set),
            pod("leaving", uid="l", owner=replica_set, deletionTimestamp="2026-01-01T00:00:00Z"),
            pod("direct", uid="x", owner=deployment),
            pod("bare", uid="b"),
        ]
    )
    assert [each.metadata.name for each in dependents.pods_below("d")] == ["direct", "a"]
    assert dependents.below("d") == {"rs", "a", "l", "x"}
    assert dependents.below("rs") == {"a", "l"}
    assert dependents.below("nobody") == set()
