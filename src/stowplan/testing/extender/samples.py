"""Sample pods and nodes for requests."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]


def sample_pod(name: str = "conformance-0", namespace: str = "default", **spec: Any) -> JsonObject:
    """A pod as an informer has it: without kind and apiVersion."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    containers = [{"name": "app", "image": "example.com/app:1", "resources": resources}]
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": {"app": "conformance"}},
        "spec": {"containers": containers, "schedulerName": "default-scheduler", "priority": 0, **spec},
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def sample_nodes(count: int = 3, prefix: str = "node-") -> list[JsonObject]:
    """Nodes as an informer has them, in three zones."""
    return [_node(f"{prefix}{i}", zone=f"zone-{i % 3}") for i in range(count)]


def _node(name: str, zone: str) -> JsonObject:
    room = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "kubernetes.io/os": "linux"}
    images = [{"names": [f"example.com/image-{i}:1"], "sizeBytes": 50_000_000} for i in range(3)]
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "annotations": {}},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": room, "allocatable": room, "conditions": conditions, "images": images},
    }
