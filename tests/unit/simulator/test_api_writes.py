from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework.instructions import Bind, Evict, Failure, PatchStatus, Write

UNSCHEDULABLE = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
TARGET = api.Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")


def test_binding_starts_the_pod() -> None:
    stage = SimulatedCluster(
        node("n1"), pod("a", status={"nominatedNodeName": "n2", "conditions": [{"type": "PodScheduled"}]})
    )
    before = stage.world.version
    assert stage.bind("a") is None
    bound = stage.pod("a")
    assert bound.spec.node_name == "n1"
    assert bound.status.phase == "Running"
    assert bound.status.start_time == "2001-09-09T01:46:40Z"
    assert bound.status.nominated_node_name == ""
    assert [(each.type, each.status) for each in bound.status.conditions] == [("PodScheduled", "True")]
    assert stage.world.version == before + 1
    assert stage.seen[-1].item is bound


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (pod("a", "n2"), 'pod a is already assigned to node "n2"'),
        (pod("a", schedulingGates=[{"name": "g"}]), "pod a has non-empty .spec.schedulingGates"),
        (
            pod("a", deletionTimestamp="2001-09-09T01:46:40Z"),
            "pod a is being deleted, cannot be assigned to a host",
        ),
    ],
)
def test_bindings_are_refused_in_the_words_of_the_api_server(item: Any, why: str) -> None:
    stage = SimulatedCluster(node("n1"), item)
    outcome = stage.bind("a")
    assert outcome.reason == "Conflict"
    assert outcome.message == f'Operation cannot be fulfilled on pods/binding "a": {why}'


def test_requests_about_pods_that_are_gone_are_refused() -> None:
    stage = SimulatedCluster(node("n1"), pod("a"))
    gone = stage.scheduled("a")
    stage.delete("a")
    for request in (Bind(gone, "n1"), Evict(gone, TARGET), PatchStatus(gone, UNSCHEDULABLE, None)):
        outcome = stage.world.execute(request)
        assert (outcome.message, outcome.reason) == ('pods "a" not found', "NotFound")


def test_requests_about_a_pod_of_the_same_name_are_refused() -> None:
    stage = SimulatedCluster(pod("a"))
    old = Cluster().pod(pod("a", namespace="default", uid="old"))
    for request in (Bind(old, "n1"), Evict(old, TARGET)):
        outcome = stage.world.execute(request)
        assert outcome.reason == "Conflict"
        assert "Precondition failed: UID in precondition: old, UID in object meta: " in outcome.message


def test_a_status_is_patched_in_parts() -> None:
    stage = SimulatedCluster(pod("a"))
    before = stage.world.version
    stage.world.execute(PatchStatus(stage.scheduled("a"), UNSCHEDULABLE, "n1"))
    assert stage.pod("a").status.conditions[0].message == "no"
    assert stage.pod("a").status.nominated_node_name == "n1"
    stage.world.execute(PatchStatus(stage.scheduled("a"), None, ""))
    assert stage.pod("a").status.conditions[0].message == "no"
    assert stage.pod("a").status.nominated_node_name == ""
    stage.world.execute(PatchStatus(stage.scheduled("a"), TARGET, None))
    assert [each.type for each in stage.pod("a").status.conditions] == ["PodScheduled", "DisruptionTarget"]
    assert stage.world.version == before
    assert len(stage.world.changes()) == 3


def test_the_evicted_are_marked_and_deleted() -> None:
    stage = SimulatedCluster(node("n1"), pod("a", "n1"))
    assert stage.world.execute(Evict(stage.scheduled("a"), TARGET)) is None
    marked, removed = stage.world.changes()
    assert [each.type for each in marked.item.status.conditions] == ["DisruptionTarget"]
    assert removed.removed
    assert removed.item == marked.item


def test_the_evicted_leave_in_their_own_time() -> None:
    stage = SimulatedCluster(node("n1"), pod("a", "n1"), grace=30)
    stage.world.execute(Evict(stage.scheduled("a"), TARGET))
    leaving = stage.pod("a")
    assert leaving.metadata.deletion_timestamp
    assert [each.type for each in leaving.status.conditions] == ["DisruptionTarget"]


def claim(**more: Any) -> Any:
    return make("PersistentVolumeClaim", "c", namespace="default", spec={"volumeName": "v"}, **more)


def test_objects_are_created_once() -> None:
    stage = SimulatedCluster()
    stored = stage.world.execute(Write("create", "PersistentVolumeClaim", claim()))
    assert stored is stage.world.get(api.PersistentVolumeClaim, "c", "default")
    again = stage.world.execute(Write("create", "PersistentVolumeClaim", claim()))
    assert (again.message, again.reason) == ('persistentvolumeclaims "c" already exists', "AlreadyExists")


def test_objects_are_read() -> None:
    stage = SimulatedCluster(claim())
    assert stage.world.execute(Write("get", "PersistentVolumeClaim", claim())).spec.volume_name == "v"
    stage.world.delete(claim())
    assert stage.world.execute(Write("get", "PersistentVolumeClaim", claim())).reason == "NotFound"


def test_names_are_made_up() -> None:
    stage = SimulatedCluster()
    unnamed = make("ResourceClaim", "", namespace="default", generateName="p-extended-resources-")
    names = {stage.world.execute(Write("create", "ResourceClaim", unnamed)).metadata.name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("p-extended-resources-") for name in names)


def test_a_patch_changes_what_it_names() -> None:
    stage = SimulatedCluster(claim(annotations={"a": "1", "b": "2"}))
    stored = stage.world.get(api.PersistentVolumeClaim, "c", "default")
    changes = {"metadata": {"annotations": {"a": None, "c": "3"}}, "spec": {"storageClassName": "fast"}}
    patched = stage.world.execute(Write("patch", "PersistentVolumeClaim", stored, changes))
    assert patched.metadata.annotations == {"b": "2", "c": "3"}
    assert (patched.spec.storage_class_name, patched.spec.volume_name) == ("fast", "v")
    assert stage.world.get(api.PersistentVolumeClaim, "c", "default") is patched


@pytest.mark.parametrize(("subresource", "phase", "volume"), [("", "Pending", ""), ("status", "Bound", "v")])
def test_status_and_spec_are_written_apart(subresource: str, phase: str, volume: str) -> None:
    stage = SimulatedCluster(claim())
    stored = stage.world.get(api.PersistentVolumeClaim, "c", "default")
    changes = {"spec": {"volumeName": None}, "status": {"phase": "Bound"}}
    patched = stage.world.execute(Write("patch", "PersistentVolumeClaim", stored, changes, subresource))
    assert (patched.status.phase, patched.spec.volume_name) == (phase, volume)


def test_a_patch_holds_for_one_version() -> None:
    stage = SimulatedCluster(claim())
    old = stage.world.get(api.PersistentVolumeClaim, "c", "default")
    stage.put(claim(labels={"a": "b"}))
    outcome = stage.world.execute(Write("patch", "PersistentVolumeClaim", old, {}))
    assert outcome.reason == "Conflict"
    assert outcome.message == (
        'Operation cannot be fulfilled on persistentvolumeclaims "c": '
        "the object has been modified; please apply your changes to the latest version and try again"
    )


def test_objects_are_deleted() -> None:
    stage = SimulatedCluster(claim())
    assert not isinstance(stage.world.execute(Write("delete", "PersistentVolumeClaim", claim())), Failure)
    outcome = stage.world.execute(Write("delete", "PersistentVolumeClaim", claim()))
    assert (outcome.message, outcome.reason) == ('persistentvolumeclaims "c" not found', "NotFound")


def test_another_object_of_the_name_is_left_alone() -> None:
    stage = SimulatedCluster(claim())
    outcome = stage.world.execute(Write("delete", "PersistentVolumeClaim", claim(uid="other")))
    assert outcome.reason == "Conflict"
    assert stage.names("PersistentVolumeClaim") == ["c"]


def test_other_kinds_are_not_served() -> None:
    outcome = SimulatedCluster().world.execute(Write("create", "Widget", {"kind": "Widget"}))
    assert (outcome.message, outcome.reason) == ("the server could not find the requested resource", "NotFound")
