from typing import Any

import pytest
from tests.unit.plugins.volume_fakes import EPHEMERAL, StorageCluster, claim, csi_node, pvc, storage_class

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Action, EventResource, QueueingHint
from stowplan.plugins.volume_binding.hints import EVENTS

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
TOPOLOGY = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
HINTS = {registration.event.resource: registration.hint for registration in EVENTS}


def driver(counts: bool | None, name: str = "inline.example.com") -> api.CSIDriver:
    return api.CSIDriver(metadata=api.ObjectMeta(name=name), spec=api.CSIDriverSpec(storage_capacity=counts))


def capacity(size: str | None, largest: str | None = None) -> api.CSIStorageCapacity:
    return codec.convert(api.CSIStorageCapacity, {"capacity": size, "maximumVolumeSize": largest})


def test_what_is_registered() -> None:
    assert [(r.event.resource, r.event.action) for r in EVENTS] == [
        (EventResource.StorageClass, Action.Add | Action.Update),
        (EventResource.PersistentVolumeClaim, Action.Add | Action.Update),
        (EventResource.PersistentVolume, Action.Add | Action.Update),
        (EventResource.Node, Action.Add | Action.UpdateNodeLabel),
        (EventResource.CSINode, Action.Add | Action.Update),
        (EventResource.CSIDriver, Action.Update),
        (EventResource.CSIStorageCapacity, Action.Add | Action.Update),
    ]
    assert HINTS[EventResource.PersistentVolume] is None
    assert HINTS[EventResource.Node] is None


@pytest.mark.parametrize(
    ("resource", "old", "new", "expected"),
    [
        (EventResource.StorageClass, None, storage_class(), QUEUE),
        (EventResource.StorageClass, storage_class(), storage_class(allowedTopologies=TOPOLOGY), QUEUE),
        (EventResource.StorageClass, storage_class(), storage_class(provisioner="other"), SKIP),
        (EventResource.PersistentVolumeClaim, None, claim("c"), QUEUE),
        (EventResource.PersistentVolumeClaim, claim("p-v1"), claim("p-v1", "pv"), QUEUE),
        (EventResource.PersistentVolumeClaim, None, claim("d"), SKIP),
        (EventResource.PersistentVolumeClaim, None, claim("c", metadata={"namespace": "other"}), SKIP),
        (EventResource.CSINode, None, csi_node("a"), QUEUE),
        (EventResource.CSINode, csi_node("a"), csi_node("a", migrated="x"), QUEUE),
        (EventResource.CSINode, csi_node("a"), csi_node("a", {"d": 1}), SKIP),
        (EventResource.CSIDriver, driver(True), driver(False), QUEUE),
        (EventResource.CSIDriver, driver(True), driver(None), QUEUE),
        (EventResource.CSIDriver, driver(False), driver(True), SKIP),
        (EventResource.CSIDriver, driver(None), driver(False), SKIP),
        (EventResource.CSIDriver, driver(True, "other"), driver(False, "other"), SKIP),
        (EventResource.CSIStorageCapacity, None, capacity(None), QUEUE),
        (EventResource.CSIStorageCapacity, capacity("1Gi"), capacity("2Gi"), QUEUE),
        (EventResource.CSIStorageCapacity, capacity(None), capacity("1Gi"), QUEUE),
        (EventResource.CSIStorageCapacity, capacity("2Gi"), capacity("1Gi"), SKIP),
        (EventResource.CSIStorageCapacity, capacity("1Gi"), capacity(None), SKIP),
        (EventResource.CSIStorageCapacity, capacity("1Gi"), capacity("9Gi", largest="1Gi"), SKIP),
    ],
)
def test_hints(resource: str, old: Any, new: Any, expected: QueueingHint) -> None:
    pod = StorageCluster().pod(pvc("c"), EPHEMERAL, {"csi": {"driver": "inline.example.com"}})
    hint = HINTS[resource]
    assert hint is not None
    assert hint(pod, old, new) is expected
