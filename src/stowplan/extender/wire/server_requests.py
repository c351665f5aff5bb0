"""Requests of every release of kube-scheduler, read with tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import msgspec

from stowplan.api import ObjectMeta, Pod
from stowplan.api.codec import DecodeError, decode, whole
from stowplan.api.names import subdomain_errors
from stowplan.extender.wire.errors import WireError
from stowplan.extender.wire.keys import NULL, folded, members, read
from stowplan.extender.wire.node_lists import Known, RawNode, is_text, read_items, split
from stowplan.extender.wire.server_replies import Mode

_MAX_COUNT = 2**63 - 1


class FilterRequest:
    """ExtenderArgs of filter and prioritize: a pod, and nodes by name or in full."""

    __slots__ = ("_pod", "fresh", "names", "nodes", "pod_bytes")

    def __init__(
        self,
        pod_bytes: bytes,
        names: list[str],
        nodes: list[RawNode] | None = None,
        fresh: list[RawNode] | None = None,
    ) -> None:
        self.pod_bytes = pod_bytes
        self.names = names if nodes is None else [node.name for node in nodes]
        """Names of the nodes in either mode, in order."""
        self.nodes = nodes
        """Full nodes by position; None in a request with names."""
        self.fresh: list[RawNode] = (nodes or []) if fresh is None else fresh
        """Nodes that were not known in the same bytes."""
        self._pod: Pod | None = None

    @property
    def pod(self) -> Pod:
        if self._pod is None:
            self._pod = read_pod(self.pod_bytes)
        return self._pod

    @property
    def mode(self) -> Mode:
        return "names" if self.nodes is None else "nodes"

    def drop_repeats(self) -> None:
        """Keep the first occurrence of each node."""
        if len(set(self.names)) == len(self.names):
            return
        first = {name: position for position, name in reversed(list(enumerate(self.names)))}
        positions = sorted(first.values())
        self.names = [self.names[position] for position in positions]
        if self.nodes is not None:
            self.nodes = [self.nodes[position] for position in positions]

    def passing(self, chosen: Sequence[bool]) -> list[str] | list[bytes]:
        """The chosen nodes, in the form in which the request contains them."""
        if self.nodes is not None:
            return [node.raw for node in compress(self.nodes, chosen)]
        return list(compress(self.names, chosen))


class BindRequest(msgspec.Struct, frozen=True):
    """ExtenderBindingArgs."""

    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = ""
    node: str = ""


class ProposedVictims(msgspec.Struct, frozen=True):
    """Victims that the scheduler proposes on a node."""

    pods: tuple[Pod, ...] = ()
    """Full pods; of a pod given by uid alone, only the uid is set."""
    num_pdb_violations: int = 0

    @property
    def uids(self) -> tuple[str, ...]:
        return tuple(pod.metadata.uid for pod in self.pods)


class PreemptRequest(msgspec.Struct, frozen=True):
    """ExtenderPreemptionArgs: the pod and its candidate nodes with their victims."""

    pod: Pod
    pod_bytes: bytes
    victims: dict[str, ProposedVictims]
    names_only: bool


class _Exact(msgspec.Struct, frozen=True, rename="pascal", forbid_unknown_fields=True):
    """A filter request in kube-scheduler's spelling since v1.6, decoded in one step."""

    pod: msgspec.Raw
    nodes: msgspec.Raw = msgspec.Raw(NULL)
    node_names: list[str] | None = None


_exact = msgspec.json.Decoder(_Exact)


def read_filter(body: bytes | bytearray, known: Known | None = None) -> FilterRequest:
    """Read the arguments of `filter` or `prioritize`. Nodes that are `known` in the same bytes are not parsed again."""
    found = split(body, known or {})
    if found is not None:
        pod, nodes, fresh = found
        return FilterRequest(pod, [], nodes, fresh)
    if not is_text(body):
        raise WireError("request: not UTF-8")
    try:
        exact = _exact.decode(body)
        parts = {"pod": bytes(exact.pod), "nodes": bytes(exact.nodes)}
        names = exact.node_names or []
    except (msgspec.DecodeError, RecursionError):
        parts = members("request", body)
        listed = read(list[str | None], "request: NodeNames", parts.get("nodenames", b"[]"))
        names = [name for name in listed if name is not None]
    pod = _pod_bytes(parts)
    full = parts.get("nodes", NULL)
    if full == NULL:
        return FilterRequest(pod, names)
    nodes = read_items(full)
    known = known or {}
    nodes = [_known_or(node, known) for node in nodes]
    return FilterRequest(pod, [], nodes, [node for node in nodes if known.get(node.name.encode()) is not node])


def _known_or(node: RawNode, known: Known) -> RawNode:
    found = known.get(node.name.encode())
    return node if found is None or found.raw != node.raw else found


def read_bind(body: bytes | bytearray) -> BindRequest:
    given = {key: read(str, f"request: {key}", value) for key, value in _texts(body).items()}
    request = BindRequest(
        given.get("podname", ""), given.get("podnamespace", ""), given.get("poduid", ""), given.get("node", "")
    )
    if not request.pod_name or not request.node:
        raise WireError("request: PodName and Node must be given")
    for key, name in (("PodName", request.pod_name), ("PodNamespace", request.pod_namespace), ("Node", request.node)):
        if name and subdomain_errors(name):
            raise WireError(f"request: {key}: {subdomain_errors(name)[0]}")
    return request


def _texts(body: bytes | bytearray) -> dict[str, bytes]:
    wanted = ("podname", "podnamespace", "poduid", "node")
    return {key: value for key, value in members("request", _checked(body)).items() if key in wanted}


def read_preempt(body: bytes | bytearray) -> PreemptRequest:
    parts = members("request", _checked(body))
    pod = _pod_bytes(parts)
    full, meta = parts.get("nodenametovictims"), parts.get("nodenametometavictims")
    names_only = full is None
    listed = meta if full is None else full
    nodes: Mapping[str, msgspec.Raw] = {}
    if listed is not None:
        nodes = read(dict[str, msgspec.Raw], "request: candidates", listed)
    victims = {name: _victims(name, bytes(raw), names_only) for name, raw in nodes.items()}
    return PreemptRequest(read_pod(pod), pod, victims, names_only)


def _victims(node: str, data: bytes, names_only: bool) -> ProposedVictims:
    where = f'request: victims on node "{node}"'
    if data == NULL:
        return ProposedVictims()
    parts = members(where, data)
    count = read(int, f"{where}: NumPDBViolations", parts.get("numpdbviolations", b"0"))
    items = [bytes(raw) for raw in read(list[msgspec.Raw], f"{where}: Pods", parts.get("pods", b"[]"))]
    convert = _named_by_uid if names_only else read_pod
    pods = tuple(convert(item) for item in items if item != NULL)
    return ProposedVictims(pods, max(0, min(count, _MAX_COUNT)))


def _named_by_uid(data: bytes) -> Pod:
    given: dict[str, Any] = folded(read(dict[str, Any], "request: victim", data))
    uid = given.get("uid", "")
    if not isinstance(uid, str):
        raise WireError("request: victim: UID must be a string")
    return Pod(metadata=ObjectMeta(uid=uid))


def read_pod(data: bytes) -> Pod:
    try:
        return decode(Pod, data)
    except DecodeError as problem:
        raise WireError(f"request: a pod cannot be read: {problem}") from problem


def read_object(data: bytes) -> dict[str, Any]:
    """A pod in full, as parsed JSON."""
    try:
        return whole(data)
    except DecodeError as problem:
        raise WireError(f"request: a pod cannot be read: {problem}") from problem


def _pod_bytes(parts: Mapping[str, bytes]) -> bytes:
    pod = parts.get("pod", NULL)
    if pod == NULL:
        raise WireError("request: Pod is missing")
    return pod


def _checked(body: bytes | bytearray) -> bytes | bytearray:
    if not is_text(body):
        raise WireError("request: not UTF-8")
    return body
