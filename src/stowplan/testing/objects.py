"""Nodes and pods, as JSON objects, with as little in them as the API server accepts."""

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]


def node(
    name: str, *, cpu: str = "4", memory: str = "8Gi", pods: int = 110, labels: Mapping[str, str] | None = None
) -> JsonObject:
    """A node that is ready. It gets the hostname label; more come from `labels`."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(
    name: str,
    namespace: str = "default",
    *,
    cpu: str = "100m",
    memory: str = "64Mi",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> JsonObject:
    """A pod of one container with these requests. `spec` is added to its spec: `schedulerName="mine"`, `priority=5`."""
    container = {"name": "app", "image": "example.com/app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], **spec},
    }
