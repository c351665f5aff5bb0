"""Requests as kube-scheduler writes them: Go's names for the keys, null for the list that is not used.

Objects come as bytes and go out as they are, so a request is put together rather than encoded.

Upstream: k8s.io/kube-scheduler/extender/v1/types.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

_encode = msgspec.json.Encoder().encode


def write_filter(pod: bytes, *, node_names: Sequence[str] | None = None, nodes: Iterable[bytes] | None = None) -> bytes:
    """The request for `filter` and `prioritize`: the nodes in question by name, or whole."""
    listed = b"null" if nodes is None else b'{"metadata":{},"items":[%b]}' % b",".join(nodes)
    names = b"null" if node_names is None else _encode(node_names)
    return b'{"Pod":%b,"Nodes":%b,"NodeNames":%b}' % (pod, listed, names)


write_prioritize = write_filter


def write_bind(pod_name: str, pod_namespace: str, pod_uid: str, node: str) -> bytes:
    return _encode({"PodName": pod_name, "PodNamespace": pod_namespace, "PodUID": pod_uid, "Node": node})


def write_preempt(pod: bytes, victims: Mapping[str, tuple[Sequence[str], int]]) -> bytes:
    """Victims by node: their uids, and the number of PodDisruptionBudget violations."""
    encoded = {
        node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
        for node, (uids, violations) in victims.items()
    }
    return b'{"Pod":%b,"NodeNameToVictims":null,"NodeNameToMetaVictims":%b}' % (pod, _encode(encoded))


def write_preempt_whole(pod: bytes, victims: Mapping[str, tuple[Sequence[bytes], int]]) -> bytes:
    """As `write_preempt`, with the victims as whole objects."""
    encoded = b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}' % (_encode(node), b",".join(pods), violations)
        for node, (pods, violations) in victims.items()
    )
    return b'{"Pod":%b,"NodeNameToVictims":{%b},"NodeNameToMetaVictims":null}' % (pod, encoded)
