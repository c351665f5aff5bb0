from typing import Any

from tests.unit.simulator.worlds import Stage, node, pod, workload


def test_bare_pods_do_not_come_back() -> None:
    stage = Stage(pod("a"))
    stage.delete("a")
    assert stage.names() == []


def test_pods_of_owners_that_are_not_there_do_not_come_back() -> None:
    stage = Stage(pod("a", owner={"kind": "ReplicaSet", "name": "web", "uid": "u"}))
    stage.delete("a")
    strange = Stage(pod("a", owner={"kind": "Rocket", "name": "web", "uid": "u"}))
    strange.delete("a")
    assert stage.names() == strange.names() == []


def test_an_owner_of_the_same_name_is_not_the_owner() -> None:
    reference: dict[str, Any] = {"kind": "ReplicaSet", "name": "web", "uid": "former"}
    stage = Stage(workload("ReplicaSet", "web", replicas=1, uid="u"), pod("a", owner=reference))
    assert len(stage.names()) == 2
    stage.delete("a")
    assert len(stage.names()) == 1


def test_the_pods_of_a_deleted_workload_go_and_stay_away() -> None:
    deployment = workload("Deployment", "web", replicas=2, namespace="default")
    stage = Stage(node("n1"), deployment)
    stage.bind(stage.names()[0])
    stage.world.delete(deployment)
    stage.settle()
    assert stage.names() == []
    assert stage.names("ReplicaSet") == []


def test_everything_is_the_same_in_every_run() -> None:
    def run() -> list[Any]:
        stage = Stage(node("n1"), workload("Deployment", "web", replicas=3), workload("Job", "sum", parallelism=2))
        stage.bind(stage.names()[0])
        stage.delete(stage.names()[0])
        return stage.seen

    assert run() == run()
