from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import START, SimulatedCluster, node, pod, workload

from stowplan import api
from stowplan.errors import InputError

RS: dict[str, Any] = {"kind": "ReplicaSet", "name": "web", "uid": "rs"}


def test_what_is_pending_keeps_its_order_and_the_rest_comes_first() -> None:
    stage = SimulatedCluster(
        pod("z"),
        workload("Deployment", "web", replicas=2),
        pod("a"),
        node("n1"),
        pod("running", "n1"),
        make("PriorityClass", "high", value=1),
    )
    kinds = [type(change.item).__name__ for change in stage.seen]
    assert kinds == [
        "PriorityClass",
        "Node",
        "Pod",
        "Namespace",
        "Pod",
        "Deployment",
        "ReplicaSet",
        "Pod",
        "Pod",
        "Pod",
    ]
    names = [change.item.metadata.name for change in stage.seen if isinstance(change.item, api.Pod)]
    assert [name[:3] for name in names] == ["run", "z", "web", "web", "a"]


def test_pods_of_a_workload_are_known_before_it_looks_for_them() -> None:
    stage = SimulatedCluster(
        workload("ReplicaSet", "web", uid="rs", replicas=2), pod("web-a", owner=RS), pod("web-b", owner=RS)
    )
    assert sorted(stage.names()) == ["web-a", "web-b"]


def test_replica_sets_are_known_before_their_deployment_looks_for_them() -> None:
    owner = {"kind": "Deployment", "name": "web", "uid": "d"}
    stage = SimulatedCluster(workload("Deployment", "web", uid="d"), workload("ReplicaSet", "web-1", owner=owner))
    assert stage.names("ReplicaSet") == ["web-1"]
    assert len(stage.names()) == 1


def test_finished_pods_take_no_part() -> None:
    stage = SimulatedCluster(pod("a", "n1", status={"phase": "Succeeded"}), pod("b", status={"phase": "Failed"}))
    assert stage.names() == []


def test_whoever_is_on_the_way_out_leaves() -> None:
    ending = "2001-09-09T01:46:40Z"
    stage = SimulatedCluster(
        node("n1"),
        pod("a", "n1", deletionTimestamp=ending),
        pod("b", "n1", deletionTimestamp=ending, terminationGracePeriodSeconds=5),
    )
    assert stage.names() == ["a", "b"]
    assert stage.world.next_deadline() == START + 5
    stage.now += 30
    stage.world.tick()
    assert stage.names() == []


def test_namespaces_come_to_be() -> None:
    stage = SimulatedCluster(
        pod("a", namespace="x"), pod("b", namespace="y"), make("Namespace", "y", labels={"own": "label"})
    )
    found = {item.metadata.name: item.metadata.labels for item in stage.world.all(api.Namespace)}
    label = "kubernetes.io/metadata.name"
    assert found == {"y": {"own": "label", label: "y"}, "x": {label: "x"}}


def test_classes_are_there_before_they_are_asked_for() -> None:
    stage = SimulatedCluster(
        pod("a", priorityClassName="high"),
        make("PersistentVolumeClaim", "c"),
        make("PriorityClass", "high", value=7),
        make("StorageClass", "fast", annotations={"storageclass.kubernetes.io/is-default-class": "true"}),
    )
    assert stage.pod("a").spec.priority == 7
    claim = stage.world.get(api.PersistentVolumeClaim, "c", "default")
    assert claim is not None
    assert claim.spec.storage_class_name == "fast"


def test_all_that_would_be_refused_is_told() -> None:
    wanting = {"priorityClassName": "high"}
    template = {"spec": {"template": {"spec": wanting}}}
    with pytest.raises(InputError) as caught:
        SimulatedCluster(
            pod("a", **wanting),
            workload("Deployment", "d", pod=wanting),
            make("CronJob", "c", spec={"jobTemplate": template}),
        )
    missing = "no PriorityClass with name high was found"
    assert str(caught.value).splitlines() == [
        f"0.yaml: $.spec.priorityClassName: {missing}",
        f"1.yaml: $.spec.template.spec.priorityClassName: {missing}",
        f"2.yaml: $.spec.jobTemplate.spec.template.spec.priorityClassName: {missing}",
    ]


def test_what_stands_in_a_cluster_needs_no_admission() -> None:
    strange = {"priorityClassName": "forgotten"}
    stage = SimulatedCluster(
        workload("Deployment", "web", namespace="default", uid="d", replicas=2, pod=strange),
        pod("a", namespace="default", uid="a", **strange),
        preexisting=("d", "a"),
    )
    assert stage.names() == ["a"]
    assert stage.pod("a").spec.priority is None
    assert stage.names("ReplicaSet") == []


def test_what_is_new_comes_after_what_stands() -> None:
    stage = SimulatedCluster(
        pod("first", namespace="default", uid="a"),
        workload("Deployment", "new", replicas=1),
        make("Service", "s", namespace="default", uid="s"),
        preexisting=("a", "s"),
    )
    kinds = [type(change.item).__name__ for change in stage.seen]
    assert kinds == ["Pod", "Service", "Namespace", "Deployment", "ReplicaSet", "Pod"]
