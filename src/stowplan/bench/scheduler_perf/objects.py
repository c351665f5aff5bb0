"""Objects that the suite creates in code: nodes, volumes with their claims, and slices of devices.

Upstream: test/integration/scheduler_perf/node_util.go, dra.go, test/utils/runners.go
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from stowplan.bench.cluster.bulk import Request
from stowplan.bench.scheduler_perf.object_template import ObjectTemplate
from stowplan.bench.scheduler_perf.suite import Operation

NODES = "/api/v1/nodes"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
VOLUMES = "/api/v1/persistentvolumes"
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_BOUND = json.dumps({"status": {"phase": "Bound"}}).encode()
_CAPACITY = {"pods": "110", "cpu": "4", "memory": "32Gi"}
_BASE_NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {},
    "status": {
        "capacity": _CAPACITY,
        "allocatable": _CAPACITY,
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
_RESOURCES = {"cpu": "100m", "memory": "500Mi"}
BASE_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": _RESOURCES, "requests": _RESOURCES},
            }
        ]
    },
}


def post(path: str, body: dict[str, Any]) -> Request:
    return b"POST", path.encode(), json.dumps(body).encode()


def pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


# Nodes
def node_requests(operation: Operation, template: ObjectTemplate | None, first: int, number: int) -> Iterator[Request]:
    """Requests of createNodes: nodes with the label kubernetes.io/hostname, and their CSINodes if there are any.

    `first` is the number of nodes so far, and `number` that of the operation.
    """
    count = operation["count"]
    for index in range(count):
        node = template.object(index, count) if template else copy.deepcopy(_BASE_NODE)
        meta = node["metadata"]
        prefix = meta.pop("generateName", f"node-{number}-")
        name = meta.setdefault("name", f"{prefix}{first + index:05}")
        labels = meta.setdefault("labels", {})
        labels["kubernetes.io/hostname"] = name
        if strategy := operation.get("labelNodePrepareStrategy"):
            values = strategy["labelValues"]
            labels[strategy["labelKey"]] = values[index % len(values)]
        allocatable = operation.get("nodeAllocatableStrategy")
        if allocatable:
            status = node["status"]
            status["allocatable"] = status.get("allocatable", status["capacity"]) | allocatable["nodeAllocatable"]
        yield post(NODES, node)
        if allocatable:
            yield post(CSI_NODES, _csi_node(name, allocatable))


def _csi_node(name: str, strategy: dict[str, Any]) -> dict[str, Any]:
    drivers = strategy.get("csiNodeAllocatable", {})
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "annotations": {_MIGRATED_PLUGINS: ",".join(strategy.get("migratedPlugins", ()))}},
        "spec": {
            "drivers": [
                {"name": driver, "nodeID": name, "allocatable": allocatable} for driver, allocatable in drivers.items()
            ]
        },
    }


# Pods
class PodCreation:
    """The pods of one createPods, each with the requests that create it, in order."""

    def __init__(
        self,
        namespace: str,
        template: ObjectTemplate | None,
        volume: ObjectTemplate | None = None,
        claim: ObjectTemplate | None = None,
    ) -> None:
        self._namespace = namespace
        self._template = template
        self._volume = volume
        self._claim = claim

    def chains(self, count: int) -> list[tuple[Request, ...]]:
        if self._claim is not None and self._volume is not None:
            return [self._with_volume(index, count, self._claim, self._volume) for index in range(count)]
        if self._template is None or self._template.static:
            return [(post(pods_path(self._namespace), self._pod(0, count)),)] * count
        return [(post(pods_path(self._namespace), self._pod(index, count)),) for index in range(count)]

    def _pod(self, index: int, count: int) -> dict[str, Any]:
        return self._template.object(index, count) if self._template else copy.deepcopy(BASE_POD)

    def _with_volume(
        self, index: int, count: int, claim_template: ObjectTemplate, volume_template: ObjectTemplate
    ) -> tuple[Request, ...]:
        """A claim, the volume that it is bound to, and the pod. Creating an object resets its status."""
        name, volume_name = f"pvc-{index}", f"{self._namespace}-vol-{index}"
        claims = f"/api/v1/namespaces/{self._namespace}/persistentvolumeclaims"
        claim = claim_template.object()
        claim.setdefault("metadata", {})["name"] = name
        claim["spec"]["volumeName"] = volume_name
        volume = _volume(volume_template.object(), volume_name, self._namespace, name)
        pod = self._pod(index, count)
        pod["spec"]["volumes"] = [{"name": "vol", "persistentVolumeClaim": {"claimName": name}}]
        return (
            post(claims, claim),
            (b"PATCH", f"{claims}/{name}/status".encode(), _BOUND),
            post(VOLUMES, volume),
            (b"PATCH", f"{VOLUMES}/{volume_name}/status".encode(), _BOUND),
            post(pods_path(self._namespace), pod),
        )


def _volume(volume: dict[str, Any], name: str, namespace: str, claim: str) -> dict[str, Any]:
    volume.setdefault("metadata", {})["name"] = name
    spec = volume["spec"]
    spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim}
    if "csi" in spec:
        spec["csi"]["volumeHandle"] = name
    elif "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"]["volumeID"] = name
    return volume


# Devices
def slice_requests(driver: str, nodes: list[str], devices: int) -> Iterator[Request]:
    """Requests of createResourceDriver: one ResourceSlice for each node."""
    for node in nodes:
        spec = {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "resourceSliceCount": 1},
            "devices": [_device(number) for number in range(devices)],
        }
        meta = {"name": node}
        yield post(
            SLICES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec}
        )


def _device(number: int) -> dict[str, Any]:
    return {
        "name": f"instance-{number}",
        "attributes": {
            "model": {"string": "A100"},
            "family": {"string": "GPU"},
            "driverVersion": {"version": "1.2.3"},
            "dra.example.com/numa": {"int": number},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }
