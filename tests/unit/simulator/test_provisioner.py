from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node

from stowplan import api
from stowplan.simulator.provisioner import Provisioner

ZONE = "topology.kubernetes.io/zone"


def storage_class(provisioner: str = "csi.example.com", *allowed: dict[str, list[str]]) -> Any:
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term.items()]} for term in allowed
    ]
    return make("StorageClass", "fast", provisioner=provisioner, allowedTopologies=terms)


def claim(name: str = "c", selected: str = "") -> Any:
    annotations = {"volume.kubernetes.io/selected-node": selected} if selected else {}
    spec = {"storageClassName": "fast", "accessModes": ["RWO"], "resources": {"requests": {"storage": "5Gi"}}}
    return make("PersistentVolumeClaim", name, namespace="default", uid=f"u-{name}", annotations=annotations, spec=spec)


def csi_node(name: str, *keys: str, driver: str = "csi.example.com") -> Any:
    return make("CSINode", name, spec={"drivers": [{"name": driver, "topologyKeys": list(keys)}]})


def provision(wanted: Any, *items: Any) -> api.PersistentVolume:
    volume = Provisioner(SimulatedCluster(*items).world).make(wanted)
    assert volume is not None
    return volume


def topology(volume: api.PersistentVolume) -> dict[str, str]:
    if volume.spec.node_affinity is None:
        return {}
    assert volume.spec.node_affinity.required is not None
    (term,) = volume.spec.node_affinity.required.node_selector_terms
    return {each.key: each.values[0] for each in term.match_expressions if each.operator == "In"}


def test_the_volume_is_what_the_claim_asks_for() -> None:
    volume = provision(claim(), storage_class())
    assert volume.metadata.name == "pvc-u-c"
    assert volume.metadata.annotations == {"pv.kubernetes.io/provisioned-by": "csi.example.com"}
    assert volume.spec.capacity == {"storage": "5Gi"}
    assert volume.spec.access_modes == ("RWO",)
    assert volume.spec.storage_class_name == "fast"
    assert volume.spec.csi == api.CSIPersistentVolumeSource(driver="csi.example.com", volume_handle="pvc-u-c")
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.name, volume.spec.claim_ref.uid) == ("c", "u-c")
    assert topology(volume) == {}


@pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
def test_some_classes_provision_nothing(provisioner: str) -> None:
    assert Provisioner(SimulatedCluster(storage_class(provisioner)).world).make(claim()) is None


def test_an_unknown_class_provisions_nothing() -> None:
    assert Provisioner(SimulatedCluster().world).make(claim()) is None


def test_nothing_is_provisioned_for_a_node_that_is_gone() -> None:
    assert Provisioner(SimulatedCluster(storage_class()).world).make(claim(selected="n1")) is None


def test_the_driver_knows_the_surroundings_of_the_node() -> None:
    volume = provision(
        claim(selected="n1"), storage_class(), node("n1", labels={ZONE: "a", "rack": "7"}), csi_node("n1", "rack")
    )
    assert topology(volume) == {"rack": "7"}


def test_else_the_class_names_them() -> None:
    allowed = {ZONE: ["a"]}, {ZONE: ["b", "c"]}
    volume = provision(claim(selected="n1"), storage_class("csi.example.com", *allowed), node("n1", labels={ZONE: "c"}))
    assert topology(volume) == {ZONE: "c"}


def test_without_a_node_one_of_the_places_is_taken() -> None:
    assert topology(provision(claim(), storage_class("csi.example.com", {ZONE: ["b", "c"]}))) == {ZONE: "b"}
    nodes = [node(f"n{i}", labels={ZONE: zone}) for i, zone in enumerate("aabb")]
    drivers = [csi_node(f"n{i}", ZONE) for i in range(4)]
    places = [topology(provision(claim(f"c{i}"), storage_class(), *nodes, *drivers))[ZONE] for i in range(20)]
    assert set(places) == {"a", "b"}


def test_in_tree_provisioners_go_by_their_driver() -> None:
    volume = provision(
        claim(selected="n1"),
        storage_class("kubernetes.io/aws-ebs"),
        node("n1", labels={"topology.ebs.csi.aws.com/zone": "a"}),
        csi_node("n1", "topology.ebs.csi.aws.com/zone", driver="ebs.csi.aws.com"),
    )
    assert volume.spec.csi is not None
    assert volume.spec.csi.driver == "ebs.csi.aws.com"
    assert topology(volume) == {"topology.ebs.csi.aws.com/zone": "a"}
