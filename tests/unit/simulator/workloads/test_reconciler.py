from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload


def test_bare_pods_do_not_come_back() -> None:
    stage = SimulatedCluster(pod("a"))
    stage.delete("a")
    assert stage.names() == []


def test_pods_of_owners_that_are_not_there_do_not_come_back() -> None:
    stage = SimulatedCluster(pod("a", owner={"kind": "ReplicaSet", "name": "web", "uid": "u"}))
    stage.delete("a")
    strange = SimulatedCluster(pod("a", owner={"kind": "Rocket", "name": "web", "uid": "u"}))
    strange.delete("a")
    assert stage.names() == strange.names() == []


def test_an_owner_of_the_same_name_is_not_the_owner() -> None:
    reference: dict[str, Any] = {"kind": "ReplicaSet", "name": "web", "uid": "former"}
    stage = SimulatedCluster(workload("ReplicaSet", "web", replicas=1, uid="u"), pod("a", owner=reference))
    assert len(stage.names()) == 2
    stage.delete("a")
    assert len(stage.names()) == 1


def test_the_pods_of_a_deleted_workload_go_and_stay_away() -> None:
    deployment = workload("Deployment", "web", replicas=2, namespace="default")
    stage = SimulatedCluster(node("n1"), deployment)
    stage.bind(stage.names()[0])
    stage.world.delete(deployment)
    stage.settle()
    assert stage.names() == []
    assert stage.names("ReplicaSet") == []


def test_everything_is_the_same_in_every_run() -> None:
    def run() -> list[Any]:
        stage = SimulatedCluster(
            node("n1"), workload("Deployment", "web", replicas=3), workload("Job", "sum", parallelism=2)
        )
        stage.bind(stage.names()[0])
        stage.delete(stage.names()[0])
        return stage.seen

    assert run() == run()


# Workloads of a cluster
def preexisting(
    kind: str, *pods: Any, replicas: int | None = 3, nodes: tuple[str, ...] = ("n1", "n2")
) -> SimulatedCluster:
    """A workload of a cluster with these pods, of which it lacks some."""
    wanted = {} if replicas is None else {"replicas": replicas}
    owner = workload(kind, "web", namespace="default", uid="u", **wanted)
    places = [node(name) for name in nodes]
    places = [replace(each, metadata=replace(each.metadata, uid=each.metadata.name)) for each in places]
    uids = [item.metadata.uid for item in (*places, owner, *pods)]
    return SimulatedCluster(*places, owner, *pods, preexisting=uids)


def its(name: str, on: str = "", kind: str = "ReplicaSet", **fields: Any) -> Any:
    owner = {"kind": kind, "name": "web", "uid": "u"}
    return pod(name, on, namespace="default", uid=name, owner=owner, generateName="web-", **fields)


def test_what_a_workload_of_a_cluster_lacks_is_not_made() -> None:
    assert preexisting("ReplicaSet", its("a", "n1")).names() == ["a"]
    assert preexisting("StatefulSet", its("web-0", "n1", "StatefulSet")).names() == ["web-0"]
    assert preexisting("DaemonSet", its("a", "n1", "DaemonSet"), replicas=None).names() == ["a"]
    cron_job = make("CronJob", "c", namespace="default", uid="c", spec={"jobTemplate": {}})
    assert SimulatedCluster(cron_job, preexisting=("c",)).names("Job") == []


def test_what_a_workload_of_a_cluster_loses_is_made_anew_as_it_was() -> None:
    """With what others added to the pod, and without a word about what it lacked before."""
    stage = preexisting("ReplicaSet", its("a", "n1", nodeSelector={"added": "later"}), its("b"))
    stage.delete("a")
    (other, made) = stage.pods()
    assert other.metadata.name == "b"
    assert made.metadata.name.startswith("web-")
    assert made.metadata.uid != "a"
    assert made.spec.node_selector == {"added": "later"}
    assert (made.spec.node_name, made.status.phase) == ("", "Pending")
    stage.delete(made.metadata.name)
    assert len(stage.names()) == 2


def test_a_pod_of_a_stateful_set_keeps_its_name() -> None:
    stage = preexisting("StatefulSet", its("web-0", "n1", "StatefulSet"), its("web-1", "n1", "StatefulSet"))
    stage.delete("web-1")
    assert stage.names() == ["web-0", "web-1"]
    assert stage.pod("web-1").metadata.uid != "web-1"


@pytest.mark.parametrize(("kind", "left"), [("ReplicaSet", 0), ("Job", 0), ("StatefulSet", 1), ("DaemonSet", 1)])
def test_one_that_was_on_its_way_out_may_have_a_successor_already(kind: str, left: int) -> None:
    leaving = its("web-0", "n1", kind, deletionTimestamp="2001-09-09T01:46:40Z")
    stage = preexisting(kind, leaving, replicas=None)
    stage.now += 60
    stage.world.tick()
    stage.settle()
    assert len(stage.names()) == left


def test_a_node_that_is_new_gets_the_daemons_of_the_cluster() -> None:
    stage = preexisting("DaemonSet", its("a", "n1", "DaemonSet"), replicas=None)
    stage.put(node("n3"))
    assert len(stage.names()) == 2
    assert [each.spec.affinity is not None for each in stage.pods()] == [False, True]


def test_nothing_is_noted_about_workloads_of_a_cluster() -> None:
    stage = preexisting("StatefulSet", its("web-0", kind="StatefulSet"))
    assert list(stage.controllers.notes()) == []
    assert list(SimulatedCluster(workload("StatefulSet", "web", replicas=3)).controllers.notes()) != []


def test_a_pod_does_not_replace_the_one_of_a_workload() -> None:
    stage = SimulatedCluster(node("n1"), workload("StatefulSet", "web", replicas=1, namespace="default"), pod("web-0"))
    (refused,) = stage.controllers.not_created
    assert (refused.pod.metadata.name, refused.message) == ("web-0", 'pods "web-0" already exists')
    assert [owner.kind for owner in stage.pod("web-0").metadata.owner_references] == ["StatefulSet"]
