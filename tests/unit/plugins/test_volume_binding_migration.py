from typing import Any

import pytest
from tests.unit.plugins.volume_fakes import affinity, csi_node, volume

from stowplan.api import codec
from stowplan.cache.volumes import TranslationError, migration_of
from stowplan.plugins.volume_binding.migration import migrated_plugins, translate_affinity

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def demand(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def translated(source: dict[str, Any], expressions: list[dict[str, Any]], labels: dict[str, str]) -> Any:
    """The expressions of each term after translation; None for no affinity."""
    spec = {**source, **({"nodeAffinity": affinity(*expressions)} if expressions else {})}
    pv = volume("pv", spec=spec, metadata={"labels": labels})
    migration = migration_of(pv.spec)
    assert migration is not None
    selector = translate_affinity(pv, migration)
    if selector is None:
        return None
    return [[(e.key, e.values) for e in term.match_expressions] for term in selector.node_selector_terms]


@pytest.mark.parametrize(
    ("expressions", "labels", "expected"),
    [
        ([], {}, None),
        ([demand("disk", "ssd")], {}, [[("disk", ("ssd",))]]),
        ([demand(ZONE, "a")], {}, [[(EBS_ZONE, ("a",))]]),
        ([demand(BETA_ZONE, "a")], {}, [[(EBS_ZONE, ("a",))]]),
        # The affinity goes before the labels, and the new label before the old one.
        ([demand(ZONE, "a"), demand(BETA_ZONE, "b")], {}, [[(EBS_ZONE, ("a",)), (BETA_ZONE, ("b",))]]),
        ([demand(ZONE, "a")], {ZONE: "b"}, [[(EBS_ZONE, ("a",))]]),
        ([], {ZONE: "a"}, [[(EBS_ZONE, ("a",))]]),
        ([], {BETA_ZONE: "b__a"}, [[(EBS_ZONE, ("a", "b"))]]),
        ([], {ZONE: "a", BETA_ZONE: "b"}, [[(EBS_ZONE, ("a",))]]),
        ([], {ZONE: " __"}, None),
        ([demand("disk", "ssd")], {ZONE: "a"}, [[("disk", ("ssd",)), (EBS_ZONE, ("a",))]]),
        # A demand without values names no zone.
        ([demand(ZONE, operator="Exists")], {ZONE: "a"}, [[(ZONE, ()), (EBS_ZONE, ("a",))]]),
        ([demand(BETA_ZONE, "a"), demand(BETA_REGION, "r")], {}, [[(EBS_ZONE, ("a",)), (REGION, ("r",))]]),
        ([demand(ZONE, "a"), demand(BETA_REGION, "r")], {}, [[(EBS_ZONE, ("a",)), (BETA_REGION, ("r",))]]),
        ([demand(BETA_REGION, "r")], {}, [[(BETA_REGION, ("r",))]]),
    ],
)
def test_zones_in_the_words_of_the_driver(
    expressions: list[dict[str, Any]], labels: dict[str, str], expected: Any
) -> None:
    assert translated(EBS, expressions, labels) == expected


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, "topology.gke.io/zone"),
        ({"cinder": {"volumeID": "v"}}, "topology.cinder.csi.openstack.org/zone"),
        ({"azureDisk": {"diskURI": "u"}}, ZONE),
        ({"portworxVolume": {"volumeID": "v"}}, ZONE),
    ],
)
def test_other_drivers(source: dict[str, Any], key: str) -> None:
    assert translated(source, [demand(ZONE, "a")], {}) == [[(key, ("a",))]]


def test_every_term_is_translated() -> None:
    terms = [{"matchExpressions": [demand(ZONE, "a")]}, {"matchExpressions": [demand("disk", "ssd")]}]
    pv = volume("pv", spec={**EBS, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})
    migration = migration_of(pv.spec)
    assert migration is not None
    selector = translate_affinity(pv, migration)
    assert selector is not None
    assert [t.match_expressions[0].key for t in selector.node_selector_terms] == [EBS_ZONE, "disk"]


def test_an_affinity_without_terms_keeps_every_node_away() -> None:
    pv = volume("pv", spec={**EBS, "nodeAffinity": {"required": {}}})
    migration = migration_of(pv.spec)
    assert migration is not None
    selector = translate_affinity(pv, migration)
    assert selector is not None
    assert selector.node_selector_terms == ()


def test_volumes_without_an_equivalent() -> None:
    with pytest.raises(TranslationError):
        translated({"awsElasticBlockStore": {"volumeID": "aws://zone/nonsense"}}, [], {})


def test_migrated_plugins() -> None:
    assert migrated_plugins(None) == ""
    assert migrated_plugins(csi_node("a", migrated="x,y")) == "x,y"
    assert migrated_plugins(codec.convert(type(csi_node("a")), {"metadata": {"name": "a"}})) == ""
