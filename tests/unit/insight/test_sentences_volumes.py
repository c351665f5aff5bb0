"""Refusals because of volumes: sentences about nodes and about the pod, facts, changes, what is easily overlooked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.builders import ZONE, World, node, pod
from tests.unit.plugins.volume_fakes import EPHEMERAL, affinity, claim, csi_node, pvc, storage_class, volume

from stowplan.framework import Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix

EBS = "ebs.csi.aws.com"
SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "index", "uid": "index"}


def world_of(*objects: Any, zones: str = "xy") -> World:
    """A node in each zone, and some objects."""
    world = World([node(f"n-{zone}", zone=zone) for zone in zones])
    for item in objects:
        world.cluster.put(item)
    return world


def using(*volumes: dict[str, Any], name: str = "p", on: str = "", **spec: Any) -> dict[str, Any]:
    named = [{"name": f"v{number}", **each} for number, each in enumerate(volumes)]
    return pod(name, on, namespace="ns", volumes=named, **spec)


def explained(world: World, item: dict[str, Any]) -> Explanation:
    return run(explain(world.profile, world.pod(item)))


def refusals(world: World, plugin: str, on: str, item: dict[str, Any]) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    return FilterMatrix(world.profile, world.pod(item)).explain(plugin, info)


def in_zone(name: str, *zones: str, **changes: Any) -> Any:
    spec = {"nodeAffinity": affinity({"key": ZONE, "operator": "In", "values": list(zones)}), **changes}
    return volume(name, spec=spec)


# The pod as a whole
def test_a_missing_claim() -> None:
    answer = explained(world_of(), using(pvc("data")))
    assert answer.because is not None
    assert (answer.because.id, answer.because.facts) == ("claim.missing", {"claim": "data", "namespace": "ns"})
    assert answer.sentence == "Claim data does not exist in namespace ns."
    assert (answer.verdict, answer.more) == ("not-now", ())


@pytest.mark.parametrize(
    ("objects", "item", "note"),
    [
        ([claim("dataa")], using(pvc("data-a")), "Namespace ns has a claim dataa."),
        ([claim("daat")], using(pvc("data-0")), None),
        ([claim("postgres-data")], using(pvc("postgres-dta")), "Namespace ns has a claim postgres-data."),
        (
            [claim("data", metadata={"namespace": "shop"})],
            using(pvc("data")),
            "Namespace shop has a claim data.",
        ),
        (
            [],
            using(pvc("data-index-0"), name="index-0", owner=SET),
            "StatefulSet/index creates it from a claim template, and has not done so.",
        ),
        (
            [],
            using(EPHEMERAL),
            "The ephemeral volume controller creates it for volume v0, and has not done so.",
        ),
    ],
)
def test_what_may_have_become_of_a_missing_claim(objects: list[Any], item: dict[str, Any], note: str | None) -> None:
    answer = explained(world_of(*objects), item)
    assert answer.because is not None
    assert answer.because.id == "claim.missing"
    assert answer.more == (() if note is None else (note,))


def test_an_unbound_claim_of_a_class_that_binds_at_once() -> None:
    created = (datetime.now(UTC) - timedelta(minutes=12, seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    item = claim("data", metadata={"creationTimestamp": created}, spec={"storageClassName": "fast"})
    world = world_of(item, storage_class("fast", "Immediate"))
    answer = explained(world, using(pvc("data")))
    assert answer.because is not None
    assert (answer.because.id, answer.verdict) == ("claim.unbound", "not-now")
    assert answer.sentence == (
        "Claim data is not bound, and its class fast binds at once: nothing has made a volume for it in 12 min."
    )
    assert answer.more == ("There is no CSIDriver csi.example.com, the provisioner of class fast.",)
    world.put("CSIDriver", name="csi.example.com")
    assert explained(world, using(pvc("data"))).more == ()


@pytest.mark.parametrize(
    ("item", "objects", "sentence", "notes"),
    [
        (
            claim("data", spec={"storageClassName": "fats"}),
            [storage_class("fast")],
            "Claim data is not bound, and its class fats does not exist.",
            (),
        ),
        (
            claim("data", spec={"storageClassName": "local-pth"}),
            [storage_class("local-path")],
            "Claim data is not bound, and its class local-pth does not exist.",
            ("There is a class local-path.",),
        ),
        (
            claim("data", spec={"storageClassName": None}),
            [storage_class("fast")],
            "Claim data is not bound, and it names no storage class.",
            ("No storage class is the default class.",),
        ),
        (
            claim("data", spec={"storageClassName": None}),
            [storage_class("std", metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}})],
            "Claim data is not bound, and it names no storage class.",
            ("std is the default class.",),
        ),
        (
            claim("data", spec={"storageClassName": ""}),
            [],
            "Claim data is not bound: it asks for a volume without a class, and no such volume is bound to it.",
            (),
        ),
        (
            claim("data", "v", bound=False),
            [storage_class(), volume("v")],
            "Claim data is being bound to volume v.",
            (),
        ),
    ],
)
def test_causes_of_an_unbound_claim(item: Any, objects: list[Any], sentence: str, notes: tuple[str, ...]) -> None:
    objects = [
        storage_class("std", metadata={"name": "std", "annotations": each.metadata.annotations})
        if each.metadata.annotations
        else each
        for each in objects
    ]
    answer = explained(world_of(item, *objects), using(pvc("data")))
    assert answer.because is not None
    assert answer.because.id == "claim.unbound"
    assert (answer.sentence, answer.more) == (sentence, notes)


@pytest.mark.parametrize(
    ("item", "identifier", "sentence"),
    [
        (
            claim("data", "v", status={"phase": "Lost"}),
            "claim.lost",
            "Claim data is bound to volume v, which does not exist.",
        ),
        (claim("data", "v"), "claim.lost", "Claim data is bound to volume v, which does not exist."),
        (
            claim("data", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            "claim.deleting",
            "Claim data is being deleted.",
        ),
    ],
)
def test_claims_that_never_help(item: Any, identifier: str, sentence: str) -> None:
    answer = explained(world_of(item, storage_class()), using(pvc("data")))
    assert answer.because is not None
    assert (answer.because.id, answer.sentence, answer.verdict) == (identifier, sentence, "never")


def test_a_claim_of_another_owner_with_the_name_of_an_ephemeral_volume() -> None:
    answer = explained(world_of(claim("p-v0"), storage_class()), using(EPHEMERAL))
    assert answer.because is not None
    assert answer.because.id == "claim.not-owned"
    assert answer.sentence == (
        "Claim p-v0 has the name that the ephemeral volume v0 needs, and was not made for this pod."
    )


# Where volumes are
def test_a_volume_in_another_zone() -> None:
    world = world_of(claim("data", "pvc-1"), in_zone("pvc-1", "y"))
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.location", True)
    assert refusal.text == "its volume pvc-1 (claim data) can be reached from zone=y only; the node is in x"
    assert refusal.facts == {"volume": "pvc-1", "claim": "data", "reachable": "zone=y", "keys": [ZONE]}
    world.put_node(node("bare"))
    (bare,) = refusals(world, "VolumeBinding", "bare", using(pvc("data")))
    assert bare.text.endswith(f"; the node has no label {ZONE}")


def test_the_zone_label_of_a_volume_says_the_same() -> None:
    world = world_of(claim("data", "pvc-1"), volume("pvc-1", metadata={"labels": {ZONE: "y__z"}}))
    (refusal,) = refusals(world, "VolumeZone", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.location", True)
    assert refusal.text == "its volume pvc-1 (claim data) can be reached from zone in (y, z) only; the node is in x"


def test_a_volume_that_no_node_reaches_dominates() -> None:
    answer = explained(world_of(claim("data", "pvc-1"), in_zone("pvc-1", "z")), using(pvc("data")))
    assert answer.sentence == "Its volume pvc-1 (claim data) can be reached from zone=z only, and no node is there."
    assert answer.verdict == "never"


def test_a_volume_against_the_selector() -> None:
    world = world_of(claim("data", "pvc-1"), in_zone("pvc-1", "y"))
    answer = explained(world, using(pvc("data"), nodeSelector={ZONE: "x"}))
    assert answer.sentence == (
        f"Its volume pvc-1 (claim data) can be reached from zone=y only, and it asks for {ZONE}=x."
    )


def test_a_volume_against_cordoned_nodes() -> None:
    world = world_of(claim("data", "pvc-1"), in_zone("pvc-1", "y"), zones="xw")
    world.put_node(node("n-y", zone="y", unschedulable=True))
    answer = explained(world, using(pvc("data")))
    assert answer.sentence == (
        "Its volume pvc-1 (claim data) can be reached from zone=y only, and none of the 2 nodes that are left is there."
    )


def test_two_volumes_that_exclude_each_other() -> None:
    world = world_of(claim("a", "va"), in_zone("va", "x"), claim("b", "vb"), in_zone("vb", "y"))
    answer = explained(world, using(pvc("a"), pvc("b")))
    assert answer.sentence == "Claims a (zone=x) and b (zone=y) can be reached from no node together."
    assert answer.verdict == "never"


def test_a_volume_begins_the_sentence_about_amounts() -> None:
    world = world_of(claim("data", "pvc-1"), in_zone("pvc-1", "y"))
    answer = explained(world, using(pvc("data"), requests={"cpu": "5"}))
    assert answer.sentence == ("Must go to zone=y to reach its volume pvc-1, and asks for 5 CPU; the only node has 4.")
    assert answer.because is not None
    assert answer.because.forced_by is not None
    assert answer.because.forced_by.id == "volume.location"


# Volumes that do not exist yet
def local_class() -> Any:
    return storage_class("local", provisioner="kubernetes.io/no-provisioner")


def wants(size: str, class_name: str = "local") -> Any:
    return claim("data", spec={"storageClassName": class_name, "resources": {"requests": {"storage": size}}})


def test_no_free_volume_that_is_large_enough() -> None:
    small = in_zone("small", "x", capacity={"storage": "80Gi"}, storageClassName="local")
    world = world_of(wants("100Gi"), local_class(), small)
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.none", False)
    assert refusal.text == "no free volume of class local with 100Gi here for claim data; the largest is 80Gi"
    assert refusal.facts == {"claim": "data", "class": "local", "wanted": 100 << 30, "largest": 80 << 30}
    (other,) = refusals(world, "VolumeBinding", "n-y", using(pvc("data")))
    assert other.text.endswith("; there is none")
    answer = explained(world, using(pvc("data")))
    assert answer.sentence == (
        "Claim data needs a free volume of class local with 100Gi, and no node has one; the largest there is 80Gi."
    )
    assert answer.verdict == "not-now"
    assert answer.more[-1] == "Not now; no change of the pod or of a node that was checked makes it fit."


def test_a_free_volume_with_other_access_modes() -> None:
    spec = {"capacity": {"storage": "1Gi"}, "storageClassName": "local", "accessModes": ["ReadOnlyMany"]}
    item = claim("data", spec={"storageClassName": "local", "accessModes": ["ReadWriteOnce"]})
    world = world_of(item, local_class(), volume("v", spec=spec))
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert refusal.text.endswith(
        "; the large ones differ in access modes, labels or mode, or another claim of the pod takes them"
    )


def capacity(world: World, zone: str, size: str) -> None:
    world.put(
        "CSIStorageCapacity",
        name=zone,
        namespace="kube-system",
        storageClassName="fast",
        capacity=size,
        nodeTopology={"matchLabels": {ZONE: zone}},
    )


def test_too_little_capacity_of_the_class() -> None:
    world = world_of(wants("100Gi", "fast"), storage_class("fast"))
    world.put("CSIDriver", name="csi.example.com", spec={"storageCapacity": True})
    capacity(world, "x", "40Gi")
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.no-capacity", False)
    assert refusal.text == "class fast has 40Gi left here, claim data asks for 100Gi"
    assert refusal.facts == {"claim": "data", "class": "fast", "wanted": 100 << 30, "left": 40 << 30}
    (other,) = refusals(world, "VolumeBinding", "n-y", using(pvc("data")))
    assert other.text == "class fast reports no capacity here, claim data asks for 100Gi"
    answer = explained(world, using(pvc("data")))
    assert answer.sentence == (
        "Claim data asks for 100Gi of class fast, and no node has that much left; the most there is 40Gi."
    )


def test_a_class_that_makes_volumes_elsewhere() -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z"]}]}]
    world = world_of(wants("1Gi", "fast"), storage_class("fast", allowedTopologies=topologies))
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.topology", False)
    assert refusal.text == "class fast of claim data makes volumes for zone=z only"
    answer = explained(world, using(pvc("data")))
    assert answer.sentence == "Class fast of claim data makes volumes for zone=z only, and no node is there."


@pytest.mark.parametrize(
    ("selected", "end"), [("gone", ", and there is no such node"), ("n-z", "; of that node: is cordoned")]
)
def test_a_volume_that_is_being_made_for_another_node(selected: str, end: str) -> None:
    annotations = {"volume.kubernetes.io/selected-node": selected}
    world = world_of(claim("data", metadata={"annotations": annotations}), storage_class())
    world.put_node(node("n-z", zone="z", unschedulable=True))
    (refusal,) = refusals(world, "VolumeBinding", "n-x", using(pvc("data")))
    assert (refusal.id, refusal.lasting) == ("volume.selected-node", False)
    assert refusal.text == f"a volume for claim data is being made for {selected}"
    answer = explained(world, using(pvc("data")))
    assert answer.sentence == f"A volume for claim data is being made for {selected}{end}."


# Attach limits
def attached(world: World, *names: str, on: str = "n-x", priority: int = 0) -> None:
    for name in names:
        world.cluster.put(volume(name, spec={"csi": {"driver": EBS, "volumeHandle": name}}))
        world.cluster.put(claim(name, name))
        world.add_pod(using(pvc(name), name=f"with-{name}", on=on, priority=priority))


def limited() -> World:
    world = world_of(csi_node("n-x", {EBS: 3}), zones="x")
    attached(world, "a", "b")
    for name in ("m", "n"):
        world.cluster.put(volume(name, spec={"csi": {"driver": EBS, "volumeHandle": name}}))
        world.cluster.put(claim(name, name))
    return world


def test_more_volumes_than_the_node_may_attach() -> None:
    world = limited()
    item = using(pvc("m"), pvc("n"), priority=1)
    (refusal,) = refusals(world, "NodeVolumeLimits", "n-x", item)
    assert (refusal.id, refusal.lasting) == ("volume.limit", False)
    assert refusal.text == f"needs 2 volumes of {EBS} more; 2 of 3 are attached"
    assert refusal.facts == {"driver": EBS, "wanted": 2, "attached": 2, "limit": 3}
    assert [(change.kind, change.text, change.effort) for change in refusal.changes] == [
        ("volume", f"1 volume of {EBS} fewer", 4),
        ("leave", "ns/with-a leaves", 6),
    ]
    info = world.cluster.nodes.get("n-x")
    assert info is not None
    assert all(check(world.profile, world.pod(item), info, (change,)) is None for change in refusal.changes)


def test_volumes_that_stay_attached_do_not_leave_with_their_pod() -> None:
    world = limited()
    for name in ("a", "b"):
        source = {"persistentVolumeName": name}
        world.put("VolumeAttachment", name=name, spec={"attacher": EBS, "nodeName": "n-x", "source": source})
    (refusal,) = refusals(world, "NodeVolumeLimits", "n-x", using(pvc("m"), pvc("n")))
    assert [change.kind for change in refusal.changes] == ["volume"]


def test_volumes_keep_their_positions_in_patches() -> None:
    item = using(pvc("m"), pvc("n"), priority=1)
    item["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}, *item["spec"]["volumes"], {"name": "token"}]
    (refusal,) = refusals(limited(), "NodeVolumeLimits", "n-x", item)
    assert [operation.path for operation in refusal.changes[0].patch] == ["/spec/volumes/2"]


def test_attach_limits_dominate() -> None:
    answer = explained(limited(), using(pvc("m"), pvc("n")))
    assert answer.sentence == (
        f"Needs 2 volumes of {EBS} on one node, and no node may attach so many: n-x has 2 of 3 attached."
    )
    assert "1 volume of ebs.csi.aws.com fewer" in [proposal.change.text for proposal in answer.proposals]


def test_requirements_are_reported_for_every_node() -> None:
    world = world_of(claim("data", "pvc-1"), in_zone("pvc-1", "y"), csi_node("n-x", {EBS: 3}))
    attached(world, "a")
    world.cluster.put(volume("m", metadata={"labels": {ZONE: "x"}}, spec={"csi": {"driver": EBS, "volumeHandle": "m"}}))
    world.cluster.put(claim("m", "m"))
    new = world.pod(using(pvc("data"), pvc("m")))
    state, info = FilterMatrix(world.profile, new).state, world.cluster.nodes.get("n-x")
    found = {
        name: world.plugin(name).requirement(state, new, info)
        for name in ("VolumeBinding", "VolumeZone", "NodeVolumeLimits")
    }
    assert {name: (each.wanted, each.there) for name, each in found.items()} == {
        "VolumeBinding": ("volumes of claims data (pvc-1), m (m)", "is in x"),
        "VolumeZone": ("zone=x", "x"),
        "NodeVolumeLimits": (f"1 of {EBS}", "1 of 3 attached"),
    }
