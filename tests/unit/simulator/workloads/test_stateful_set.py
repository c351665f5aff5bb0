from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload

from stowplan import api

CLAIMS: list[dict[str, Any]] = [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]
OWNER: dict[str, Any] = {"kind": "StatefulSet", "name": "db", "uid": "s"}


def parallel(**spec: Any) -> Any:
    return workload("StatefulSet", "db", podManagementPolicy="Parallel", **spec)


def test_pods_have_numbers() -> None:
    stage = SimulatedCluster(parallel(replicas=2))
    assert stage.names() == ["db-0", "db-1"]
    labels = dict(stage.pod("db-1").metadata.labels)
    assert labels.pop("controller-revision-hash").startswith("db-")
    assert labels == {
        "app": "db",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
    }


def test_numbers_may_start_elsewhere() -> None:
    assert SimulatedCluster(parallel(replicas=2, ordinals={"start": 5})).names() == ["db-5", "db-6"]


def test_each_pod_waits_for_the_one_before() -> None:
    stage = SimulatedCluster(node("n1"), workload("StatefulSet", "db", replicas=3))
    assert stage.names() == ["db-0"]
    assert list(stage.controllers.notes()) == [
        "StatefulSet default/db: 2 of 3 pods are not created before the previous one is ready"
    ]
    stage.bind("db-0")
    assert stage.names() == ["db-0", "db-1"]
    stage.bind("db-1")
    assert stage.names() == ["db-0", "db-1", "db-2"]
    assert list(stage.controllers.notes()) == []


@pytest.mark.parametrize(
    ("status", "made"),
    [
        ({}, ["db-1"]),
        ({"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}, ["db-1"]),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, ["db-1"]),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}, []),
    ],
)
def test_pods_of_a_snapshot_are_ready_unless_they_run_and_are_not(status: dict[str, Any], made: list[str]) -> None:
    first = pod("db-0", "n1", owner=OWNER, status=status)
    stage = SimulatedCluster(node("n1"), workload("StatefulSet", "db", uid="s", replicas=3), first)
    assert stage.names() == ["db-0", *made]


def test_a_set_that_grows_waits_for_who_is_on_the_way_out() -> None:
    stage = SimulatedCluster(node("n1"), workload("StatefulSet", "db", replicas=1), grace=30)
    stage.bind("db-0")
    stage.delete("db-0")
    stage.put(workload("StatefulSet", "db", replicas=2))
    assert stage.names() == ["db-0"]
    stage.now += 30
    stage.world.tick()
    stage.settle()
    stage.bind("db-0")
    assert stage.names() == ["db-0", "db-1"]


def test_starting_takes_no_longer_in_a_large_set() -> None:
    stage = SimulatedCluster(node("n1"), parallel(replicas=50))
    looked_at = 0
    find = stage.world.get

    def get(*args: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return find(*args)

    stage.world.get = get  # type: ignore[method-assign]
    stage.bind("db-7")
    assert looked_at < 50


def test_a_lost_pod_comes_back_under_its_name() -> None:
    stage = SimulatedCluster(node("n1"), workload("StatefulSet", "db", replicas=2))
    stage.bind("db-0")
    stage.bind("db-1")
    before = stage.pod("db-0")
    stage.delete("db-0")
    assert sorted(stage.names()) == ["db-0", "db-1"]
    assert stage.pod("db-0").metadata.uid != before.metadata.uid
    assert stage.pod("db-0").spec.node_name == ""


def test_a_pod_on_its_way_out_is_waited_for() -> None:
    stage = SimulatedCluster(node("n1"), parallel(replicas=1), grace=30)
    stage.bind("db-0")
    old = stage.pod("db-0").metadata.uid
    stage.delete("db-0")
    assert stage.pod("db-0").metadata.uid == old
    stage.now += 30
    stage.world.tick()
    stage.settle()
    assert stage.pod("db-0").metadata.uid != old


def test_only_missing_pods_are_made() -> None:
    stage = SimulatedCluster(node("n1"), parallel(uid="s", replicas=3), pod("db-1", "n1", owner=OWNER))
    assert sorted(stage.names()) == ["db-0", "db-1", "db-2"]
    assert stage.pod("db-1").spec.node_name == "n1"


def test_every_pod_has_claims_of_its_own() -> None:
    stage = SimulatedCluster(
        parallel(replicas=2, volumeClaimTemplates=CLAIMS, pod={"volumes": [{"name": "data"}, {"name": "other"}]}),
        make("StorageClass", "fast", annotations={"storageclass.kubernetes.io/is-default-class": "true"}),
    )
    assert stage.names("PersistentVolumeClaim") == ["data-db-0", "data-db-1"]
    claim = stage.world.get(api.PersistentVolumeClaim, "data-db-1", "default")
    assert claim is not None
    assert claim.metadata.labels == {"app": "db"}
    assert claim.spec.storage_class_name == "fast"
    assert claim.metadata.owner_references == ()
    volumes = stage.pod("db-1").spec.volumes
    assert [volume.name for volume in volumes] == ["data", "other"]
    assert volumes[0].persistent_volume_claim == api.PersistentVolumeClaimVolumeSource(claim_name="data-db-1")


def test_claims_are_kept_for_the_next_pod() -> None:
    stage = SimulatedCluster(node("n1"), parallel(replicas=1, volumeClaimTemplates=CLAIMS))
    before = stage.world.get(api.PersistentVolumeClaim, "data-db-0", "default")
    stage.delete("db-0")
    assert stage.world.get(api.PersistentVolumeClaim, "data-db-0", "default") is before
