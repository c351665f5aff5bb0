from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload

from stowplan import api


def test_a_deployment_makes_a_replica_set_that_makes_pods() -> None:
    stage = SimulatedCluster(workload("Deployment", "web", replicas=3))
    (replica_set,) = stage.world.all(api.ReplicaSet)
    mark = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"web-{mark}"
    assert replica_set.spec.selector == api.LabelSelector(match_labels={"app": "web", "pod-template-hash": mark})
    assert replica_set.metadata.owner_references[0].kind == "Deployment"
    assert len(stage.names()) == 3
    for made in stage.pods():
        assert made.metadata.name.startswith(f"web-{mark}-")
        assert made.metadata.labels == {"app": "web", "pod-template-hash": mark}
        assert made.metadata.owner_references[0].uid == replica_set.metadata.uid
        assert made.metadata.namespace == "default"
        assert made.spec.priority == 0


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
@pytest.mark.parametrize(("replicas", "made"), [({}, 1), ({"replicas": 0}, 0), ({"replicas": 2}, 2)])
def test_replicas(kind: str, replicas: dict[str, int], made: int) -> None:
    selector = {"selector": {}} if kind == "ReplicationController" else {}
    assert len(SimulatedCluster(workload(kind, "web", **replicas, **selector)).names()) == made


def test_a_replication_controller_without_a_template_makes_nothing() -> None:
    assert SimulatedCluster(make("ReplicationController", "r", spec={"replicas": 3})).names() == []


def test_pods_get_their_priority_once_for_all() -> None:
    high = make("PriorityClass", "high", value=9)
    stage = SimulatedCluster(workload("Deployment", "web", replicas=2, pod={"priorityClassName": "high"}), high)
    one, two = stage.pods()
    assert one.spec is two.spec
    assert one.spec.priority == 9


def test_an_evicted_pod_comes_back_under_another_name() -> None:
    stage = SimulatedCluster(node("n1"), workload("ReplicaSet", "web", replicas=2))
    first, second = stage.names()
    stage.bind(first)
    stage.delete(first)
    assert stage.names()[0] == second
    assert len(stage.names()) == 2
    assert first not in stage.names()


def test_a_pod_on_its_way_out_is_replaced_at_once() -> None:
    stage = SimulatedCluster(node("n1"), workload("ReplicaSet", "web", replicas=2), grace=30)
    first, _ = stage.names()
    stage.bind(first)
    stage.delete(first)
    assert len(stage.names()) == 3
    stage.now += 30
    stage.world.tick()
    stage.settle()
    assert len(stage.names()) == 2


def test_several_losses_at_once_are_made_good_once() -> None:
    stage = SimulatedCluster(node("n1"), workload("ReplicaSet", "web", replicas=5), grace=30)
    for name in stage.names():
        stage.bind(name)
    for name in stage.names()[:3]:
        stage.world.delete(stage.pod(name))
    stage.now += 30
    stage.world.tick()
    stage.settle()
    assert len(stage.names()) == 5


def test_a_finished_pod_is_replaced() -> None:
    stage = SimulatedCluster(workload("ReplicaSet", "web", replicas=1))
    (name,) = stage.names()
    owner = stage.pod(name).metadata.owner_references[0]
    reference = {"kind": owner.kind, "name": owner.name, "uid": owner.uid, "apiVersion": owner.api_version}
    stage.put(pod(name, owner=reference, status={"phase": "Failed"}))
    assert len(stage.names()) == 2


RS: dict[str, Any] = {"kind": "ReplicaSet", "name": "web", "uid": "rs"}
DEPLOYMENT: dict[str, Any] = {"kind": "Deployment", "name": "web", "uid": "d"}


def test_only_missing_replicas_are_made() -> None:
    stage = SimulatedCluster(
        node("n1"), pod("web-a", "n1", owner=RS), pod("web-b", owner=RS), workload("ReplicaSet", "web", uid="rs")
    )
    assert stage.names() == ["web-a", "web-b"]
    grown = SimulatedCluster(pod("web-a", owner=RS), workload("ReplicaSet", "web", uid="rs", replicas=3))
    assert len(grown.names()) == 3


def test_pods_on_their_way_out_do_not_count() -> None:
    leaving = pod("web-a", "n1", owner=RS, deletionTimestamp="2001-09-09T01:46:40Z")
    stage = SimulatedCluster(node("n1"), leaving, workload("ReplicaSet", "web", uid="rs"))
    assert len(stage.names()) == 2


def test_replica_sets_that_are_there_count() -> None:
    old = workload("ReplicaSet", "web-old", replicas=0, owner=DEPLOYMENT, pod={"schedulerName": "old"})
    new = workload("ReplicaSet", "web-new", replicas=2, owner=DEPLOYMENT)
    new = make("ReplicaSet", "web-new", owner=DEPLOYMENT, spec=_with_hash(new))
    stage = SimulatedCluster(workload("Deployment", "web", uid="d", replicas=2), old, new)
    assert stage.names("ReplicaSet") == ["web-old", "web-new"]
    assert len(stage.names()) == 2


def test_the_current_replica_set_is_scaled_up() -> None:
    current = workload("ReplicaSet", "web", replicas=1, owner=DEPLOYMENT)
    other = workload("ReplicaSet", "web-old", replicas=1, owner=DEPLOYMENT, pod={"schedulerName": "old"})
    stage = SimulatedCluster(workload("Deployment", "web", uid="d", replicas=5), other, current)
    assert stage.names("ReplicaSet") == ["web-old", "web"]
    assert len(stage.names()) == 5


def test_only_old_replica_sets_make_way_for_a_new_one() -> None:
    old = workload("ReplicaSet", "web-old", replicas=1, owner=DEPLOYMENT, pod={"schedulerName": "old"})
    stage = SimulatedCluster(workload("Deployment", "web", uid="d", replicas=3), old)
    assert len(stage.names("ReplicaSet")) == 2
    assert len(stage.names()) == 3


def test_a_workload_that_grows_gets_more_pods() -> None:
    stage = SimulatedCluster(workload("Deployment", "web", replicas=1))
    stage.put(workload("Deployment", "web", replicas=4))
    assert len(stage.names()) == 4
    assert len(stage.names("ReplicaSet")) == 1


def _with_hash(item: api.ReplicaSet) -> dict[str, Any]:
    """The spec of a replica set as a deployment's controller writes it."""
    labels = {"app": "web", "pod-template-hash": "xyz"}
    containers = [{"name": each.name, "image": each.image} for each in item.spec.template.spec.containers]
    return {
        "replicas": item.spec.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
