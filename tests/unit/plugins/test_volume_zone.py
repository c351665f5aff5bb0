from typing import Any

import pytest
from tests.builders import ZONE
from tests.unit.plugins.volume_fakes import (
    EPHEMERAL,
    StorageCluster,
    claim,
    labelled,
    pvc,
    reasons,
    storage_class,
    volume,
)

from stowplan import api
from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status
from stowplan.plugins.volume_zone import VolumeZone, topologies_of

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
CONFLICT = ("node(s) had no available volume zone",)


def in_zones(name: str, **labels: str) -> api.PersistentVolume:
    return volume(name, metadata={"labels": labels})


@pytest.mark.parametrize(
    ("labels", "rejected"),
    [
        ({ZONE: "a"}, {"b", "a-old-label", "region"}),
        ({ZONE: "a__b"}, {"a-old-label", "region"}),
        ({ZONE: " a __ b "}, {"a-old-label", "region"}),
        # The old label of a volume may be matched by the new one of a node, not the other way round.
        ({BETA_ZONE: "a"}, {"b", "region"}),
        ({ZONE: "a", REGION: "r"}, {"a", "b", "a-old-label", "region"}),
        ({REGION: "r"}, {"a", "b", "a-old-label"}),
        ({BETA_ZONE: "b", ZONE: "b"}, {"a", "a-old-label", "region"}),
    ],
)
def test_labelled_nodes_must_be_in_the_zones_of_the_volume(labels: dict[str, str], rejected: set[str]) -> None:
    world = StorageCluster(
        labelled("a", **{ZONE: "a"}),
        labelled("b", **{ZONE: "b"}),
        labelled("a-old-label", **{BETA_ZONE: "a"}),
        labelled("region", **{REGION: "r"}),
        labelled("bare"),
        in_zones("pv", **labels),
        claim("c", "pv"),
    )
    answer = world.judge(world.plugin(VolumeZone), world.pod(pvc("c")))
    assert reasons(answer) == dict.fromkeys(rejected, CONFLICT)
    assert isinstance(answer, dict)
    assert {status.code for status in answer.values()} <= {Code.UnschedulableAndUnresolvable}


def test_all_volumes_must_agree() -> None:
    world = StorageCluster(labelled("a", **{ZONE: "a"}), labelled("b", **{ZONE: "b"}))
    world.put(in_zones("pv1", **{ZONE: "a"}), in_zones("pv2", **{ZONE: "b"}), claim("c1", "pv1"), claim("c2", "pv2"))
    answer = world.judge(world.plugin(VolumeZone), world.pod(pvc("c1"), pvc("c2")))
    assert reasons(answer) == {"a": CONFLICT, "b": CONFLICT}


@pytest.mark.parametrize(
    ("items", "name", "reason"),
    [
        ([], "", "PersistentVolumeClaim had no name"),
        ([], "c", 'persistentvolumeclaim "c" not found'),
        ([claim("c", "pv")], "c", 'persistentvolume "pv" not found'),
        (
            [claim("c", spec={"storageClassName": None})],
            "c",
            "PersistentVolumeClaim had no pv name and storageClass name",
        ),
        ([claim("c")], "c", 'storageclass.storage.k8s.io "wait" not found'),
        ([claim("c"), storage_class(mode=None)], "c", 'VolumeBindingMode not set for StorageClass "wait"'),
        ([claim("c"), storage_class(mode="Immediate")], "c", "PersistentVolume had no name"),
    ],
)
def test_claims_without_a_volume_reject_the_pod(items: list[Any], name: str, reason: str) -> None:
    world = StorageCluster(labelled("a"), *items)
    answer = world.judge(world.plugin(VolumeZone), world.pod(pvc(name)))
    assert answer == Status(Code.UnschedulableAndUnresolvable, reason, plugin="VolumeZone")


@pytest.mark.parametrize(
    "items",
    [
        [claim("c"), storage_class()],
        [claim("c", "pv"), volume("pv")],
        [claim("c", "pv"), in_zones("pv", **{ZONE: "a__"})],
    ],
    ids=["waits for first consumer", "no labels", "a label that is no list of zones"],
)
def test_volumes_without_a_zone_are_skipped(items: list[Any]) -> None:
    world = StorageCluster(labelled("a", **{ZONE: "b"}), *items)
    answer = world.judge(world.plugin(VolumeZone), world.pod(pvc("c")))
    assert isinstance(answer, Status)
    assert answer.code is Code.Skip


def test_only_claims_by_name_concern_it() -> None:
    world = StorageCluster()
    plugin = world.plugin(VolumeZone)
    assert plugin.concerns(world.pod(pvc("c")).template)
    assert not plugin.concerns(world.pod(EPHEMERAL).template)
    assert not plugin.concerns(world.pod().template)


def test_a_cluster_without_zone_labels_rejects_nothing() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), in_zones("pv", **{ZONE: "x"}), claim("c", "pv"))
    assert world.judge(world.plugin(VolumeZone), world.pod(pvc("c")), CycleState()) == {}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([claim("c", "pv"), in_zones("pv", **{ZONE: "a"})], {"b": CONFLICT}),
        ([claim("c"), storage_class()], {}),
        ([], dict.fromkeys(("a", "b", "bare"), ('persistentvolumeclaim "c" not found',))),
    ],
    ids=["zone", "unbound", "no claim"],
)
def test_filter_gets_along_without_pre_filter(items: list[Any], expected: dict[str, tuple[str]]) -> None:
    world = StorageCluster(labelled("a", **{ZONE: "a"}), labelled("b", **{ZONE: "b"}), labelled("bare"), *items)
    assert reasons(world.filter(world.plugin(VolumeZone), world.pod(pvc("c")), CycleState())) == expected


def test_hints() -> None:
    world = StorageCluster()
    plugin, pod = world.plugin(VolumeZone), world.pod(pvc("c"))
    on = {registration.event.resource: registration for registration in plugin.events_to_register()}
    assert {r: on[r].event.action for r in on} == {
        EventResource.StorageClass: Action.Add,
        EventResource.Node: Action.Add | Action.UpdateNodeLabel,
        EventResource.PersistentVolumeClaim: Action.Add | Action.Update,
        EventResource.PersistentVolume: Action.Add | Action.Update,
    }
    table = [
        (EventResource.StorageClass, None, storage_class(), QUEUE),
        (EventResource.StorageClass, None, storage_class(mode="Immediate"), SKIP),
        (EventResource.StorageClass, None, storage_class(mode=None), SKIP),
        (EventResource.PersistentVolumeClaim, None, claim("c"), QUEUE),
        (EventResource.PersistentVolumeClaim, claim("d"), claim("d"), SKIP),
        (EventResource.PersistentVolumeClaim, None, claim("c", metadata={"namespace": "other"}), SKIP),
        (EventResource.PersistentVolume, None, volume("pv"), QUEUE),
        (EventResource.PersistentVolume, volume("pv"), in_zones("pv", **{ZONE: "a"}), QUEUE),
        (EventResource.PersistentVolume, volume("pv"), in_zones("pv", other="a"), SKIP),
    ]
    for resource, old, new, expected in table:
        hint = on[resource].hint
        assert hint is not None
        assert hint(pod, old, new) is expected, (resource, old, new)
    assert on[EventResource.Node].hint is None


def test_topologies_come_in_one_order() -> None:
    found = topologies_of(in_zones("pv", **{REGION: "r", ZONE: "b__a", BETA_ZONE: "c", "other": "x"}))
    assert [(t.key, sorted(t.values)) for t in found] == [(BETA_ZONE, ["c"]), (ZONE, ["a", "b"]), (REGION, ["r"])]
