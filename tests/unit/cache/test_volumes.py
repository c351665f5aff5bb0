import pytest
from tests.builders import pod, typed

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.cache.volumes import (
    MIGRATIONS,
    Migration,
    TranslationError,
    affinity_of,
    claim_name,
    claim_names,
    csi_handle_of,
    migration_of,
    not_owner,
    storage_class_of,
    uses_claim,
)
from stowplan.framework import Pod

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
GCE = {"gcePersistentDisk": {"pdName": "d"}}


def pod_with_volumes() -> Pod:
    spec = {
        "volumes": [
            {"name": "a", "rbd": {"image": "i"}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        ]
    }
    return Cluster().pod(typed(pod("p", namespace="ns", uid="u", **spec)))


def claim(name: str = "c", namespace: str = "ns", **metadata: object) -> api.PersistentVolumeClaim:
    raw = {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": {"storageClassName": "field"}}
    return codec.convert(api.PersistentVolumeClaim, raw)


def volume(spec: dict[str, object], **labels: str) -> api.PersistentVolume:
    return codec.convert(api.PersistentVolume, {"metadata": {"name": "pv", "labels": labels}, "spec": spec})


def test_claims_behind_volumes() -> None:
    p = pod_with_volumes()
    assert [claim_name(p, v) for v in p.spec.volumes] == [None, "c", "p-d"]
    assert claim_names(p) == ("c",)


@pytest.mark.parametrize(
    ("name", "namespace", "used"), [("c", "ns", True), ("p-d", "ns", True), ("p-b", "ns", False), ("c", "other", False)]
)
def test_use_of_claims(name: str, namespace: str, used: bool) -> None:
    assert uses_claim(pod_with_volumes(), claim(name, namespace)) is used


@pytest.mark.parametrize(
    ("owners", "own"),
    [
        ([], False),
        ([{"uid": "u", "controller": True}], True),
        ([{"uid": "u", "controller": False}], False),
        ([{"uid": "x", "controller": True}], False),
        ([{"uid": "x"}, {"uid": "u", "controller": True}], True),
    ],
)
def test_ownership_of_claims(owners: list[dict[str, object]], own: bool) -> None:
    complaint = not_owner(pod_with_volumes(), claim("p-d", ownerReferences=owners))
    assert complaint == (None if own else "PVC ns/p-d was not created for pod ns/p (pod is not owner)")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (claim(), "field"),
        (claim(annotations={BETA_CLASS: "annotation"}), "annotation"),
        (claim(annotations={BETA_CLASS: ""}), ""),
        (api.PersistentVolumeClaim(), ""),
        (volume({"storageClassName": "field"}), "field"),
        (volume({}), ""),
    ],
)
def test_storage_classes(item: api.PersistentVolume | api.PersistentVolumeClaim, expected: str) -> None:
    assert storage_class_of(item) == expected


def test_volumes_are_reached_by_labels_and_not_by_fields() -> None:
    assert affinity_of(volume({})) is None
    assert affinity_of(volume({"nodeAffinity": {}})) is None
    nowhere = affinity_of(volume({"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}))
    assert nowhere is not None
    assert not nowhere.matches({}, "n")
    term = {
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}],
    }
    somewhere = affinity_of(volume({"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}))
    assert somewhere is not None
    assert somewhere.matches({"zone": "z"}, "n")
    assert not somewhere.matches({"zone": "y"}, "other")


@pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda m: m.plugin)
def test_in_tree_plugins_are_told_by_their_sources(migration: Migration) -> None:
    first, *rest = migration.attribute.split("_")
    assert migration_of(volume({first + "".join(word.title() for word in rest): {}}).spec) is migration


def test_other_volumes_are_not_migrated() -> None:
    assert migration_of(volume({"csi": {"driver": "d"}}).spec) is None


@pytest.mark.parametrize(
    ("spec", "labels", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "anything"}}, {}, "anything"),
        ({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}, {}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, {}, "vol-1"),
        ({"azureDisk": {"diskName": "d", "diskURI": "uri"}}, {}, "uri"),
        ({"cinder": {"volumeID": "v"}}, {}, "v"),
        ({"portworxVolume": {"volumeID": "v"}}, {}, "v"),
        (GCE, {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (GCE, {"topology.kubernetes.io/zone": "z"}, "projects/UNSPECIFIED/zones/z/disks/d"),
        (
            GCE,
            {"topology.kubernetes.io/zone": "new", "failure-domain.beta.kubernetes.io/zone": "old"},
            "projects/UNSPECIFIED/zones/old/disks/d",
        ),
        (GCE, {"topology.kubernetes.io/zone": "us-a-1__us-a-2"}, "projects/UNSPECIFIED/regions/us-a/disks/d"),
    ],
)
def test_handles(spec: dict[str, object], labels: dict[str, str], handle: str) -> None:
    assert csi_handle_of(volume(spec, **labels)) == handle


@pytest.mark.parametrize(
    ("spec", "zones", "problem"),
    [
        (
            {"awsElasticBlockStore": {"volumeID": "aws://zone/disk-1"}},
            "",
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk-1)",
        ),
        (
            GCE,
            "us-a-1__x",
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: x",
        ),
        (
            GCE,
            "us-b-1__us-a-1",
            "failed to get region from zones: multiple or no regions gotten from zones, got: map[us-a:{} us-b:{}]",
        ),
    ],
)
def test_volumes_without_an_equivalent(spec: dict[str, object], zones: str, problem: str) -> None:
    with pytest.raises(TranslationError) as raised:
        csi_handle_of(volume(spec, **{"topology.kubernetes.io/zone": zones}))
    assert str(raised.value) == problem
