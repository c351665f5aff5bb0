"""The columns of volumes in use follow pods, claims, volumes, classes and attachments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, node, pod

from stowplan.plugins.node_volume_limits.attachable import AttachableVolumes
from stowplan.plugins.node_volume_limits.volumes_in_use import VolumesInUse

CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


class Columns:
    def __init__(self) -> None:
        self.world = World([node("a"), node("b")], [pod("p", "a", **CLAIM)])
        self.in_use = VolumesInUse(self.world.cluster, AttachableVolumes(self.world.cluster))

    def put(self, kind: str, **fields: Any) -> None:
        self.world.put(kind, **fields)

    def counts(self, driver: str = "x") -> list[int]:
        self.in_use.update()
        return self.in_use.counts(driver)[:2].tolist()


@pytest.fixture
def columns() -> Columns:
    found = Columns()
    assert found.counts() == [0, 0]
    found.put("PersistentVolumeClaim", name="c", namespace="default", spec={"volumeName": "pv"})
    found.put("PersistentVolume", name="pv", spec={"csi": {"driver": "x", "volumeHandle": "h"}})
    assert found.counts() == [1, 0]
    return found


def test_a_changed_volume(columns: Columns) -> None:
    columns.put("PersistentVolume", name="pv", spec={"csi": {"driver": "y", "volumeHandle": "h"}})
    assert (columns.counts("x"), columns.counts("y")) == ([0, 0], [1, 0])


def test_a_changed_claim(columns: Columns) -> None:
    columns.put("PersistentVolumeClaim", name="c", namespace="default", spec={"volumeName": "other"})
    assert columns.counts() == [0, 0]
    columns.put("PersistentVolume", name="other", spec={"csi": {"driver": "x", "volumeHandle": "i"}})
    assert columns.counts() == [1, 0]


def test_a_class_that_provisions(columns: Columns) -> None:
    columns.put("PersistentVolumeClaim", name="c", namespace="default", spec={"storageClassName": "s"})
    assert columns.counts("z") == [0, 0]
    columns.put("StorageClass", name="s", provisioner="z")
    assert columns.counts("z") == [1, 0]


def test_pods_that_come_and_go(columns: Columns) -> None:
    added = columns.world.add_pod(pod("q", "b", **CLAIM))
    assert columns.counts() == [1, 1]
    assert columns.in_use.slots_with({("x", "h")}) == {0, 1}
    columns.world.cluster.remove_pod(added.uid)
    assert columns.counts() == [1, 0]
    assert columns.in_use.slots_with({("x", "h")}) == {0}


def test_attachments_count_unless_a_pod_uses_the_volume(columns: Columns) -> None:
    for name, at in (("one", "a"), ("two", "b")):
        spec = {"attacher": "x", "nodeName": at, "source": {"persistentVolumeName": "pv"}}
        columns.put("VolumeAttachment", name=name, spec=spec)
    assert columns.counts() == [1, 1]
    columns.put("PersistentVolume", name="pv", spec={"csi": {"driver": "x", "volumeHandle": "new"}})
    assert columns.counts() == [1, 1]
    assert columns.in_use.of_slot(0) == {("x", "new")}


def test_a_volume_that_cannot_be_looked_up_is_an_error(columns: Columns) -> None:
    ephemeral = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    columns.put("PersistentVolumeClaim", name="r-e", namespace="default", spec={"volumeName": "pv"})
    columns.world.add_pod(pod("r", "b", volumes=[ephemeral]))
    columns.in_use.update()
    assert list(columns.in_use.errors) == [1]
    assert columns.in_use.slots_with([]) == {1}
