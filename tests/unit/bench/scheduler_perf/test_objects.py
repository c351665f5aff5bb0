import json
from pathlib import Path
from typing import Any

from stowplan.bench.cluster.bulk import Request
from stowplan.bench.scheduler_perf.object_template import ObjectTemplate
from stowplan.bench.scheduler_perf.objects import PodCreation, node_requests, slice_requests


def bodies(requests: list[Request]) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, body in requests]


def test_nodes_have_a_hostname_and_the_labels_of_the_strategy() -> None:
    operation = {"count": 3, "labelNodePrepareStrategy": {"labelKey": "zone", "labelValues": ["a", "b"]}}
    nodes = bodies(list(node_requests(operation, None, 10, 0)))
    names = [node["metadata"]["name"] for node in nodes]
    assert names == ["node-0-00010", "node-0-00011", "node-0-00012"]
    assert [node["metadata"]["labels"]["zone"] for node in nodes] == ["a", "b", "a"]
    assert nodes[0]["metadata"]["labels"]["kubernetes.io/hostname"] == names[0]


def test_nodes_with_allocatable_volumes_have_a_csi_node() -> None:
    strategy = {
        "nodeAllocatable": {"attachable-volumes-csi-x": "39"},
        "csiNodeAllocatable": {"x": {"count": 39}},
        "migratedPlugins": ["kubernetes.io/aws-ebs"],
    }
    (node, csi_node) = bodies(list(node_requests({"count": 1, "nodeAllocatableStrategy": strategy}, None, 0, 1)))
    assert node["status"]["allocatable"] == {
        "pods": "110",
        "cpu": "4",
        "memory": "32Gi",
        "attachable-volumes-csi-x": "39",
    }
    assert "attachable-volumes-csi-x" not in node["status"]["capacity"]
    assert csi_node["metadata"]["name"] == node["metadata"]["name"]
    assert csi_node["spec"]["drivers"] == [
        {"name": "x", "nodeID": node["metadata"]["name"], "allocatable": {"count": 39}}
    ]


def test_pods_with_volumes_come_after_their_claims(tmp_path: Path) -> None:
    (tmp_path / "pv.yaml").write_text("spec: {csi: {driver: x, volumeHandle: y}}\n")
    (tmp_path / "pvc.yaml").write_text("spec: {accessModes: [ReadOnlyMany]}\n")
    volume, claim = ObjectTemplate(tmp_path / "pv.yaml"), ObjectTemplate(tmp_path / "pvc.yaml")
    chains = PodCreation("ns", None, volume, claim).chains(2)
    assert [path for _, path, _ in chains[1]] == [
        b"/api/v1/namespaces/ns/persistentvolumeclaims",
        b"/api/v1/namespaces/ns/persistentvolumeclaims/pvc-1/status",
        b"/api/v1/persistentvolumes",
        b"/api/v1/persistentvolumes/ns-vol-1/status",
        b"/api/v1/namespaces/ns/pods",
    ]
    claimed, _, bound, _, pod = bodies(list(chains[1]))
    assert claimed["spec"]["volumeName"] == bound["metadata"]["name"] == bound["spec"]["csi"]["volumeHandle"]
    assert bound["spec"]["claimRef"]["name"] == "pvc-1"
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "pvc-1"}


def test_slices_have_the_devices_of_the_suite() -> None:
    (item,) = bodies(list(slice_requests("driver", ["n1"], 2)))
    assert [device["name"] for device in item["spec"]["devices"]] == ["instance-0", "instance-1"]
    assert item["spec"]["devices"][1]["attributes"]["dra.example.com/numa"] == {"int": 1}
