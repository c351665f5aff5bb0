from functools import partial
from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import START, SimulatedCluster, node, pod, workload

from stowplan import api
from stowplan.framework.instructions import EmitEvent
from stowplan.simulator.api_server import ApiServer, ObjectChange, StepOrder, controller_of
from stowplan.simulator.faults import Faults, NodeLoss


def test_objects_get_uid_version_and_time() -> None:
    world = SimulatedCluster().world
    stored = world.put(pod("a", namespace="default"))
    assert stored.metadata.uid
    assert stored.metadata.resource_version == "1"
    assert stored.metadata.creation_timestamp == "2001-09-09T01:46:40Z"
    assert world.get(api.Pod, "a", "default") is stored
    assert world.changes() == [ObjectChange(stored)]
    assert world.changes() == []


def test_what_objects_bring_is_kept() -> None:
    stored = SimulatedCluster().world.put(
        api.Node(metadata=api.ObjectMeta(name="n", uid="u", creation_timestamp="2000-01-01T00:00:00Z"))
    )
    assert (stored.metadata.uid, stored.metadata.creation_timestamp) == ("u", "2000-01-01T00:00:00Z")


def test_replacing_keeps_identity_and_raises_the_version() -> None:
    stage = SimulatedCluster()
    first = stage.world.put(pod("a"))
    stage.now += 100
    second = stage.world.put(pod("a", labels={"x": "y"}))
    assert second.metadata.uid == first.metadata.uid
    assert second.metadata.creation_timestamp == first.metadata.creation_timestamp
    assert int(second.metadata.resource_version) > int(first.metadata.resource_version)


def test_an_object_with_another_uid_takes_the_place_of_one_that_is_gone() -> None:
    world = SimulatedCluster().world
    first = world.put(pod("a"))
    second = world.put(pod("a", uid="other"))
    assert world.changes() == [ObjectChange(first), ObjectChange(first, removed=True), ObjectChange(second)]


def test_a_name_used_again_means_another_uid_and_still_the_same_in_every_run() -> None:
    def history() -> list[str]:
        world = SimulatedCluster().world
        uids = []
        for _ in range(3):
            uids.append(world.put(pod("a")).metadata.uid)
            world.delete(pod("a"))
        return uids

    assert len(set(history())) == 3
    assert history() == history()


def test_uids_do_not_hang_on_what_else_there_is() -> None:
    alone, crowded = SimulatedCluster().world, SimulatedCluster(node("n1"), pod("b")).world
    assert alone.put(pod("a")).metadata.uid == crowded.put(pod("a")).metadata.uid


def test_deleting_tells_the_last_state() -> None:
    world = SimulatedCluster().world
    stored = world.put(pod("a"))
    world.delete(pod("a"))
    world.delete(pod("a"))
    assert world.get(api.Pod, "a") is None
    assert world.changes() == [ObjectChange(stored), ObjectChange(stored, removed=True)]


def test_the_version_counts_all_but_statuses() -> None:
    world = SimulatedCluster().world
    stored = world.put(pod("a"))
    assert world.version == 1
    world.put_status(stored)
    assert world.version == 1
    world.delete(stored)
    assert world.version == 2


def test_dependents_are_found_by_their_controller() -> None:
    world = SimulatedCluster().world
    owner = {"kind": "ReplicaSet", "name": "rs", "uid": "u"}
    world.put(pod("a", owner=owner))
    world.put(pod("b", owner=owner))
    world.put(make("PersistentVolumeClaim", "c", owner=owner))
    world.put(pod("a", owner=owner))
    assert list(world.dependents("u", api.Pod)) == ["a", "b"]
    world.delete(pod("a"))
    assert list(world.dependents("u", api.Pod)) == ["b"]
    assert world.all_dependents("u") == [(api.Pod, "b"), (api.PersistentVolumeClaim, "c")]
    assert list(world.dependents("nobody", api.Pod)) == []


def test_only_the_controller_among_the_owners_counts() -> None:
    owners = [{"name": "a", "uid": "1"}, {"name": "b", "uid": "2", "controller": True}]
    item = api.Pod(metadata=api.ObjectMeta(owner_references=tuple(api.OwnerReference(**o) for o in owners)))
    found = controller_of(item)
    assert found is not None
    assert found.name == "b"
    assert controller_of(api.Pod()) is None


def test_owners_are_found_unless_they_are_others_of_the_same_name() -> None:
    stage = SimulatedCluster(workload("ReplicaSet", "web", uid="r", replicas=0), make("Node", "n1", uid="n"))
    owners = {
        "ours": {"kind": "ReplicaSet", "name": "web", "uid": "r"},
        "earlier": {"kind": "ReplicaSet", "name": "web", "uid": "gone"},
        "static": {"kind": "Node", "name": "n1", "uid": "n"},
        "strange": {"kind": "Rollout", "name": "web", "uid": "r"},
    }
    found = {name: stage.world.owner_of(pod(name, namespace="default", owner=owner)) for name, owner in owners.items()}
    assert {name: type(item).__name__ for name, item in found.items() if item} == {
        "ours": "ReplicaSet",
        "static": "Node",
    }
    assert stage.world.owner_of(pod("bare")) is None


def test_pods_that_run_take_their_time_to_end() -> None:
    stage = SimulatedCluster(node("n1"), pod("a", "n1"), pod("b"), grace=30)
    stage.delete("b")
    assert stage.names() == ["a"]
    stage.delete("a")
    assert stage.pod("a").metadata.deletion_timestamp == "2001-09-09T01:47:10Z"
    stage.now += 10
    stage.delete("a")
    assert stage.world.next_deadline() == START + 30
    stage.world.tick()
    assert stage.names() == ["a"]
    stage.now += 20
    stage.world.tick()
    assert stage.names() == []
    assert stage.world.next_deadline() is None


def test_a_pod_of_the_same_name_is_not_ended_in_its_place() -> None:
    stage = SimulatedCluster(node("n1"), pod("a", "n1"), grace=30)
    stage.delete("a")
    stage.put(pod("a", "n1", uid="another"))
    stage.now += 30
    stage.world.tick()
    assert stage.pod("a").metadata.uid == "another"


def test_steps_are_done_in_order_of_time() -> None:
    stage, done = SimulatedCluster(), []
    for when in (3, 1, 2, 1):
        stage.world.at(START + when, lambda when=when: done.append(when))
    stage.now += 2
    stage.world.tick()
    assert done == [1, 1, 2]


def test_nodes_are_lost_at_their_time() -> None:
    import random

    stage = SimulatedCluster(node("n1"), faults=Faults(random.Random(0), node_losses=[NodeLoss(START + 5, "n1")]))
    stage.now += 5
    stage.world.tick()
    assert stage.names("Node") == []


def test_events_are_kept() -> None:
    stage = SimulatedCluster(pod("a"))
    event = EmitEvent(stage.scheduled("a"), "Normal", "Scheduled", "Binding", "note")
    before = stage.world.version
    assert stage.world.execute(event) is None
    assert list(stage.world.events) == [event]
    assert stage.world.version == before


def test_all_and_count() -> None:
    world = SimulatedCluster().world
    items: list[Any] = [world.put(pod(name)) for name in "abc"]
    assert list(world.all(api.Pod)) == items
    assert world.count(api.Pod) == 3
    assert world.count(api.Node) == 0


def test_what_the_engine_does_itself_is_no_business_of_the_world() -> None:
    from stowplan.framework.instructions import Sleep

    with pytest.raises(KeyError):
        ApiServer(lambda: 0.0).execute(Sleep(1))


def test_pods_are_found_by_node() -> None:
    world = SimulatedCluster().world
    world.put(pod("a", nodeName="n"))
    assert [each.metadata.name for each in world.pods_on("n")] == ["a"]
    world.put(pod("b", nodeName="n"))
    world.put(pod("c"))
    world.put(pod("c", nodeName="n"))
    world.delete(pod("a"))
    assert [each.metadata.name for each in world.pods_on("n")] == ["b", "c"]
    assert world.pods_on("other") == []


def test_uids_differ_also_after_more_deletions_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.simulator.api_server._MAX_KEPT_INCARNATIONS", 3)
    server = ApiServer(lambda: 0.0)
    seen: list[str] = []
    for number in range(12):
        name = "again" if number % 2 else f"once-{number}"
        stored = server.put(api.Pod(metadata=api.ObjectMeta(name=name, namespace="default")))
        seen.append(stored.metadata.uid)
        server.delete(stored)
    assert len(set(seen)) == 12


def test_steps_at_the_same_time_run_in_the_order_of_their_kind() -> None:
    server = ApiServer(lambda: 5.0)
    done: list[str] = []
    for order in (StepOrder.ARRIVAL, StepOrder.AUTOSCALER, StepOrder.COMPLETION, StepOrder.NODE):
        server.at(5.0, partial(done.append, order.name), order)
    server.tick()
    assert done == ["COMPLETION", "NODE", "AUTOSCALER", "ARRIVAL"]
