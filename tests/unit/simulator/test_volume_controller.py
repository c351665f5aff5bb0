from typing import Any

from msgspec.structs import replace
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node

from stowplan import api
from stowplan.cache.volumes import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE


def claim(name: str = "c", size: str = "1Gi", storage_class: str = "manual", **more: Any) -> Any:
    spec = {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}, **more.pop("spec", {})}
    return make("PersistentVolumeClaim", name, spec=spec, **more)


def volume(name: str = "v", size: str = "1Gi", storage_class: str = "manual", **more: Any) -> Any:
    spec = {"storageClassName": storage_class, "capacity": {"storage": size}, **more.pop("spec", {})}
    return make("PersistentVolume", name, spec=spec, **more)


def storage_class(mode: str = "Immediate", provisioner: str = "csi.example.com") -> Any:
    return make("StorageClass", "made", provisioner=provisioner, volumeBindingMode=mode)


def the_claim(stage: SimulatedCluster, name: str = "c") -> api.PersistentVolumeClaim:
    found = stage.world.get(api.PersistentVolumeClaim, name, "default")
    assert found is not None
    return found


def the_volume(stage: SimulatedCluster, name: str = "v") -> api.PersistentVolume:
    found = stage.world.get(api.PersistentVolume, name)
    assert found is not None
    return found


def assert_bound(stage: SimulatedCluster, name: str = "c", to: str = "v") -> None:
    bound, source = the_claim(stage, name), the_volume(stage, to)
    assert bound.spec.volume_name == to
    assert bound.metadata.annotations[BIND_COMPLETED] == "yes"
    assert bound.status.phase == source.status.phase == "Bound"
    assert bound.status.capacity == source.spec.capacity
    assert source.spec.claim_ref is not None
    assert source.spec.claim_ref.uid == bound.metadata.uid


def test_the_smallest_volume_that_suits_is_taken() -> None:
    stage = SimulatedCluster(
        volume("tiny", "1Mi"), volume("big", "9Gi"), volume("v", "2Gi"), volume("x", "1Gi", "other"), claim()
    )
    assert_bound(stage)
    assert the_claim(stage).metadata.annotations[BOUND_BY_CONTROLLER] == "yes"
    assert the_volume(stage, "big").status.phase == "Available"


def test_the_order_of_claims_and_volumes_does_not_matter() -> None:
    stage = SimulatedCluster(claim())
    assert the_claim(stage).status.phase == "Pending"
    stage.put(volume())
    assert_bound(stage)


def test_a_volume_is_given_once() -> None:
    stage = SimulatedCluster(claim("one"), claim("two"), volume())
    phases = {name: the_claim(stage, name).status.phase for name in ("one", "two")}
    assert sorted(phases.values()) == ["Bound", "Pending"]
    stage.put(volume("w"))
    assert the_claim(stage, "two").status.phase == "Bound"


def test_selectors_and_modes_are_heeded() -> None:
    picky = claim(spec={"selector": {"matchLabels": {"tier": "gold"}}, "accessModes": ["ReadWriteMany"]})
    stage = SimulatedCluster(
        volume("plain"), volume("v", labels={"tier": "gold"}, spec={"accessModes": ["ReadWriteMany"]}), picky
    )
    assert_bound(stage)


def test_a_claim_that_names_its_volume() -> None:
    stage = SimulatedCluster(volume("other"), claim(spec={"volumeName": "v"}))
    assert the_claim(stage).status.phase == "Pending"
    stage.put(volume())
    assert_bound(stage)
    assert BOUND_BY_CONTROLLER not in the_claim(stage).metadata.annotations


def test_a_volume_that_names_its_claim() -> None:
    reference = {"namespace": "default", "name": "c"}
    stage = SimulatedCluster(volume("smaller", "1Gi"), volume("v", "9Gi", spec={"claimRef": reference}), claim())
    assert_bound(stage)


def test_a_volume_kept_for_somebody_else_is_not_taken() -> None:
    stage = SimulatedCluster(volume(spec={"claimRef": {"namespace": "default", "name": "other"}}), claim())
    assert the_claim(stage).status.phase == "Pending"
    assert the_volume(stage).status.phase == "Available"


def test_an_immediate_claim_is_provisioned() -> None:
    stage = SimulatedCluster(claim(storage_class="made"))
    assert stage.names("PersistentVolume") == []
    stage.put(storage_class())
    (name,) = stage.names("PersistentVolume")
    assert_bound(stage, to=name)


def test_a_claim_that_waits_for_its_consumer_is_left_alone() -> None:
    stage = SimulatedCluster(
        storage_class("WaitForFirstConsumer"), volume(storage_class="made"), claim(storage_class="made")
    )
    assert the_claim(stage).spec.volume_name == ""
    assert the_claim(stage).status.phase == "Pending"


def test_what_the_scheduler_reserved_is_bound() -> None:
    stage = SimulatedCluster(
        storage_class("WaitForFirstConsumer"), volume(storage_class="made"), claim(storage_class="made")
    )
    waiting = the_claim(stage)
    reference = api.ObjectReference(namespace="default", name="c", uid=waiting.metadata.uid)
    reserved = the_volume(stage)
    stage.put(replace(reserved, spec=replace(reserved.spec, claim_ref=reference)))
    assert_bound(stage)


def test_what_the_scheduler_chose_a_node_for_is_provisioned() -> None:
    stage = SimulatedCluster(node("n1"), storage_class("WaitForFirstConsumer"), claim(storage_class="made"))
    select(stage, "n1")
    (name,) = stage.names("PersistentVolume")
    assert_bound(stage, to=name)
    assert the_claim(stage).metadata.annotations[SELECTED_NODE] == "n1"


def test_a_node_that_is_gone_is_not_selected_any_more() -> None:
    stage = SimulatedCluster(storage_class("WaitForFirstConsumer"), claim(storage_class="made"))
    select(stage, "gone")
    assert SELECTED_NODE not in the_claim(stage).metadata.annotations
    assert stage.names("PersistentVolume") == []


def select(stage: SimulatedCluster, node_name: str) -> None:
    waiting = the_claim(stage)
    annotations = {**waiting.metadata.annotations, SELECTED_NODE: node_name}
    stage.put(replace(waiting, metadata=replace(waiting.metadata, annotations=annotations)))


def test_volumes_made_for_a_claim_go_with_it_and_others_stay() -> None:
    stage = SimulatedCluster(storage_class(), claim("c", storage_class="made"), claim("d"), volume())
    assert len(stage.names("PersistentVolume")) == 2
    for name in ("c", "d"):
        stage.world.delete(the_claim(stage, name))
    stage.settle()
    assert stage.names("PersistentVolume") == ["v"]
    assert the_volume(stage).status.phase == "Released"
    stage.put(claim("d"))
    assert the_claim(stage, "d").status.phase == "Pending"


def test_a_claim_that_loses_its_volume_is_lost() -> None:
    stage = SimulatedCluster(volume(), claim())
    stage.world.delete(the_volume(stage))
    stage.settle()
    assert the_claim(stage).status.phase == "Lost"


def test_a_volume_reserved_for_a_claim_served_otherwise_is_free_again() -> None:
    stage = SimulatedCluster(volume(), claim())
    bound = the_claim(stage)
    reference = api.ObjectReference(namespace="default", name="c", uid=bound.metadata.uid)
    late = volume("late", annotations={BOUND_BY_CONTROLLER: "yes"})
    stage.put(replace(late, spec=replace(late.spec, claim_ref=reference)))
    assert the_volume(stage, "late").spec.claim_ref is None
    assert the_volume(stage, "late").status.phase == "Available"
    assert_bound(stage)


def test_objects_of_a_snapshot_are_left_as_they_are() -> None:
    bound = claim(
        uid="u", annotations={BIND_COMPLETED: "yes"}, spec={"volumeName": "elsewhere"}, status={"phase": "Bound"}
    )
    stage = SimulatedCluster(bound)
    assert the_claim(stage).status.phase == "Bound"


def test_a_malformed_selector_finds_nothing() -> None:
    broken = claim(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}})
    stage = SimulatedCluster(volume(), broken)
    assert the_claim(stage).status.phase == "Pending"
