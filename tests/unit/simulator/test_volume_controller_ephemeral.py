from typing import Any

from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod

from stowplan import api

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
VOLUMES: list[dict[str, Any]] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}, {"name": "other"}]


def test_a_claim_is_made_for_the_pod_and_goes_with_it() -> None:
    default = make("StorageClass", "fast", annotations={"storageclass.kubernetes.io/is-default-class": "true"})
    stage = SimulatedCluster(default, pod("a", volumes=VOLUMES))
    claim = stage.world.get(api.PersistentVolumeClaim, "a-scratch", "default")
    assert claim is not None
    assert claim.spec.storage_class_name == "fast"
    assert claim.metadata.labels == {"a": "b"}
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller) == ("Pod", stage.pod("a").metadata.uid, True)
    stage.delete("a")
    assert stage.names("PersistentVolumeClaim") == []


def test_a_claim_that_is_there_is_left_alone() -> None:
    given = make("PersistentVolumeClaim", "a-scratch", labels={"c": "d"})
    stage = SimulatedCluster(given, pod("a", volumes=VOLUMES))
    claim = stage.world.get(api.PersistentVolumeClaim, "a-scratch", "default")
    assert claim is not None
    assert claim.metadata.labels == {"c": "d"}


def test_pods_on_their_way_out_get_none() -> None:
    leaving = pod("a", "n1", volumes=VOLUMES, deletionTimestamp="2001-09-09T01:46:40Z")
    assert SimulatedCluster(node("n1"), leaving).names("PersistentVolumeClaim") == []
