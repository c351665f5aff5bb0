"""Pods and nodes as JSON for extenders.

Objects are sent as the API server sent them, without the fields that kube-scheduler's cache drops too: kind,
apiVersion, and a pod's managedFields. If the whole object was not kept, the fields that scheduling reads are sent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.api import codec
from stowplan.framework import NodeInfo, Pod

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MAX_CACHED_NODES = 1 << 16


class Objects:
    """Keeps the bytes of nodes, which are sent again and again while they stay as they are, and of the last pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[Any, bytes]] = {}
        self._pod: tuple[Any, bytes] = (None, b"")

    def pod(self, pod: Pod) -> bytes:
        """The pod of the current attempt, which several requests contain."""
        key, data = self._pod
        if key is not pod:
            data = pod_bytes(pod)
            self._pod = (pod, data)
        return data

    def node(self, info: NodeInfo) -> bytes:
        version = info.node if info.source is None else info.source
        known = self._nodes.get(info.name)
        if known is not None and known[0] is version:
            return known[1]
        if len(self._nodes) >= _MAX_CACHED_NODES:
            self._nodes.clear()  # Most of these nodes are gone.
        data = node_bytes(info)
        self._nodes[info.name] = (version, data)
        return data


def pod_bytes(pod: Pod) -> bytes:
    if pod.source is not None:
        return _trimmed(pod.source, "managedFields")
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if pod.labels:
        metadata["labels"] = dict(pod.labels)
    status = {"nominatedNodeName": pod.nominated_node_name} if pod.nominated_node_name else {}
    spec: dict[str, Any] = codec.builtins(pod.spec)
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    return codec.encode({"metadata": metadata, "spec": spec, "status": status})


def node_bytes(info: NodeInfo) -> bytes:
    if info.source is not None:
        return _trimmed(info.source)
    node = info.node
    return codec.encode({"metadata": node.metadata, "spec": node.spec, "status": node.status})


def _trimmed(source: Any, *less: str) -> bytes:
    """An object, as bytes or parsed, without its kind, and with less in its metadata."""
    data = source if isinstance(source, bytes) else codec.encode(source)
    members = _members.decode(data)
    before = len(members)
    members.pop("kind", None)
    members.pop("apiVersion", None)
    if less and "metadata" in members:
        metadata = _members.decode(members["metadata"])
        for field in less:
            metadata.pop(field, None)
        members["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    elif len(members) == before:
        return data  # No field is dropped, so one copy serves both.
    return msgspec.json.encode(members)
