from typing import Any

import pytest
from tests.unit.plugins.volume_fakes import EPHEMERAL, StorageCluster, claim, labelled, pvc

from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status
from stowplan.plugins.volume_restrictions import CLAIM_CONFLICT, DISK_CONFLICT, STATE, VolumeRestrictions

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
EXCLUSIVE = {"accessModes": ["ReadWriteOncePod"]}


def gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(volume_id: str, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume_id, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool = False, lun: int = 0) -> dict[str, Any]:
    return {"iscsi": {"targetPortal": "t", "iqn": iqn, "lun": lun, "readOnly": read_only}}


def rbd(*monitors: str, image: str = "i", pool: str = "p", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": monitors, "image": image, "pool": pool, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("wanted", "present", "conflict"),
    [
        (gce("d"), gce("d"), True),
        (gce("d"), gce("e"), False),
        (gce("d", True), gce("d"), True),
        (gce("d", True), gce("d", True), False),
        (ebs("v"), ebs("v"), True),
        (ebs("v", True), ebs("v", True), True),
        (ebs("v"), ebs("w"), False),
        (iscsi("q"), iscsi("q", lun=1), True),
        (iscsi("q"), iscsi("r"), False),
        (iscsi("q", True), iscsi("q"), True),
        (iscsi("q", True), iscsi("q", True), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1"), rbd("m1", image="j"), False),
        (rbd("m1"), rbd("m1", pool="q"), False),
        (rbd("m1", read_only=True), rbd("m1"), True),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
        (gce("x"), ebs("x"), False),
        (ebs("x"), pvc("x"), False),
    ],
)
def test_disks_of_pods_on_the_node(wanted: dict[str, Any], present: dict[str, Any], conflict: bool) -> None:
    world = StorageCluster(labelled("a"), labelled("b"))
    world.pod(present, name="other", on="a")
    answer = world.judge(world.plugin(VolumeRestrictions), world.pod({"emptyDir": {}}, wanted))
    assert answer == ({"a": DISK_CONFLICT} if conflict else {})
    assert DISK_CONFLICT.code is Code.Unschedulable


def test_an_exclusive_claim_in_use_rejects_every_node() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), claim("c", "pv", spec=EXCLUSIVE))
    world.pod(pvc("c"), name="other", on="a")
    assert world.judge(world.plugin(VolumeRestrictions), world.pod(pvc("c"))) == dict.fromkeys("ab", CLAIM_CONFLICT)


def test_a_disk_conflict_is_told_before_a_claim_conflict() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), claim("c", "pv", spec=EXCLUSIVE))
    world.pod(pvc("c"), gce("d"), name="other", on="a")
    answer = world.judge(world.plugin(VolumeRestrictions), world.pod(gce("d"), pvc("c")))
    assert answer == {"a": DISK_CONFLICT, "b": CLAIM_CONFLICT}


@pytest.mark.parametrize(
    ("modes", "user_namespace"),
    [(EXCLUSIVE, "other"), ({"accessModes": ["ReadWriteOnce"]}, "ns")],
    ids=["of another namespace", "not exclusive"],
)
def test_other_claims_are_skipped(modes: dict[str, Any], user_namespace: str) -> None:
    world = StorageCluster(labelled("a"), claim("c", "pv", spec=modes))
    world.pod(pvc("c"), name="other", on="a", namespace=user_namespace)
    answer = world.judge(world.plugin(VolumeRestrictions), world.pod(pvc("c")))
    assert isinstance(answer, Status)
    assert answer.code is Code.Skip


def test_a_missing_claim_rejects_the_pod() -> None:
    world = StorageCluster(labelled("a"))
    answer = world.judge(world.plugin(VolumeRestrictions), world.pod(gce("d"), pvc("c")))
    reason = 'persistentvolumeclaim "c" not found'
    assert answer == Status(Code.UnschedulableAndUnresolvable, reason, plugin="VolumeRestrictions")


def test_removing_pods_and_adding_them_again() -> None:
    world = StorageCluster(
        labelled("a"), labelled("b"), claim("c", "pv", spec=EXCLUSIVE), claim("d", "pv2", spec=EXCLUSIVE)
    )
    user = world.pod(pvc("c"), pvc("e"), name="user", on="a")
    # Upstream compares names alone when pods are added and removed, so a pod of another namespace counts here.
    foreign = world.pod(pvc("d"), name="foreign", on="b", namespace="other")
    plugin, pod, state = world.plugin(VolumeRestrictions), world.pod(pvc("c"), pvc("d")), CycleState()
    assert world.judge(plugin, pod, state) == dict.fromkeys("ab", CLAIM_CONFLICT)
    a, b = world.cluster.nodes.get("a"), world.cluster.nodes.get("b")
    assert a is not None
    assert b is not None
    changed = state.clone()
    plugin.remove_pod(changed, pod, user, a)
    assert plugin.filter(changed, pod, a) is None
    plugin.add_pod(changed, pod, foreign, b)
    assert plugin.filter(changed, pod, a) == CLAIM_CONFLICT
    assert changed.read(STATE).count == 1
    assert state.read(STATE).count == 1
    assert plugin.filter(state, pod, a) == CLAIM_CONFLICT


@pytest.mark.parametrize(
    ("volumes", "concerned"),
    [
        ([], False),
        ([{"emptyDir": {}}], False),
        ([EPHEMERAL], False),
        ([{"cinder": {"volumeID": "x"}}], False),
        ([pvc("c")], True),
        ([gce("d")], True),
        ([rbd("m")], True),
    ],
)
def test_whom_it_concerns(volumes: list[dict[str, Any]], concerned: bool) -> None:
    world = StorageCluster()
    assert world.plugin(VolumeRestrictions).concerns(world.pod(*volumes).template) is concerned


def test_hints() -> None:
    world = StorageCluster()
    plugin, pod = world.plugin(VolumeRestrictions), world.pod(pvc("c"), gce("d"))
    on = {registration.event.resource: registration for registration in plugin.events_to_register()}
    assert {r: on[r].event.action for r in on} == {
        EventResource.Pod: Action.Delete,
        EventResource.Node: Action.Add,
        EventResource.PersistentVolumeClaim: Action.Add,
    }
    after_delete, after_add = on[EventResource.Pod].hint, on[EventResource.PersistentVolumeClaim].hint
    assert after_delete is not None
    assert after_add is not None
    deletions = [
        (world.pod(pvc("c"), name="x"), QUEUE),
        (world.pod(pvc("c"), name="x", namespace="other"), SKIP),
        (world.pod(pvc("e"), name="x"), SKIP),
        (world.pod(gce("d"), name="x"), QUEUE),
        (world.pod(gce("e"), name="x"), SKIP),
        (world.pod(name="x"), SKIP),
    ]
    for deleted, expected in deletions:
        assert after_delete(pod, deleted, None) is expected, deleted.spec.volumes
    assert after_add(pod, None, claim("c")) is QUEUE
    assert after_add(pod, None, claim("e")) is SKIP
    assert after_add(pod, None, claim("c", metadata={"namespace": "other"})) is SKIP
