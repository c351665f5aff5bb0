"""Full nodes of a request, split without parsing nodes that arrived before in the same bytes.

A list of nodes has tens of megabytes, of which little changes from one request to the next. If the bytes at a position
equal those of a JSON object that was parsed before, that object starts and ends there. So a node is looked up by its
name, which kube-scheduler writes first, and compared; only nodes that differ are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from stowplan.api import Node
from stowplan.api.codec import DecodeError, decode, whole
from stowplan.extender.wire.errors import WireError
from stowplan.extender.wire.keys import members, read

_OPENING = b'{"Pod":'
_LIST = b',"Nodes":{"metadata":{},"items":['
_ENDING = b']},"NodeNames":null}'
_NAME = b'{"metadata":{"name":"'
_NEXT = b"}," + _NAME
_MAX_POD_BYTES = 2**21
_MAX_GUESSES = 4
_COMMA = ord(",")


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    """A node decoded for its name only."""

    metadata: _Name = _Name()


_named = msgspec.json.Decoder(_Named)


class RawNode:
    """A node as received."""

    __slots__ = ("_node", "name", "raw")

    def __init__(self, name: str, raw: bytes, node: Node | None = None) -> None:
        self.name = name
        self.raw = raw
        self._node = node

    @property
    def node(self) -> Node:
        """The node, decoded on first use."""
        if self._node is None:
            self._node = read_node(self.raw)
        return self._node

    def forget_parsed(self) -> None:
        """Keep only the bytes, after the struct was used."""
        self._node = None

    def object(self) -> dict[str, object]:
        """The whole node as parsed JSON."""
        return whole(self.raw)


Known = Mapping[bytes, RawNode]
"""Nodes of earlier requests, by name as it stands in JSON."""

Split = tuple[bytes, list[RawNode], list[RawNode]]
"""(pod, all nodes, nodes that are not known in the same bytes)"""


def read_node(raw: bytes) -> Node:
    try:
        return decode(Node, raw)
    except DecodeError as problem:
        raise WireError(f"request: Nodes: a node cannot be read: {problem}") from problem


def split(body: bytes | bytearray, known: Known) -> Split | None:
    """Split a request in kube-scheduler's spelling; None for any other spelling."""
    if not body.startswith(_OPENING):
        return None
    start = body.find(_LIST, 0, _MAX_POD_BYTES)
    end = len(body) - len(_ENDING)
    if start < 0 or not body.startswith(_ENDING, end):
        return None
    pod = bytes(body[len(_OPENING) : start])
    if not _is_object(pod):
        return None
    nodes = _items(body, start + len(_LIST), end, known)
    return None if nodes is None else (pod, *nodes)


def _items(body: bytes | bytearray, at: int, end: int, known: Known) -> tuple[list[RawNode], list[RawNode]] | None:
    nodes: list[RawNode] = []
    fresh: list[RawNode] = []
    name_at, starts, find, get = len(_NAME), body.startswith, body.find, known.get
    while at < end:
        if not starts(_NAME, at):
            return None
        found = get(bytes(body[at + name_at : find(b'"', at + name_at)]))
        if found is None or not starts(found.raw, at):
            found = _read_at(body, at, end)
            if found is None:
                return None
            fresh.append(found)
        nodes.append(found)
        at += len(found.raw)
        if at < end:
            if body[at] != _COMMA:
                return None
            at += 1
            if at == end:
                return None
    return (nodes, fresh) if at == end else None


def _read_at(body: bytes | bytearray, at: int, end: int) -> RawNode | None:
    """The node that starts here. Its end is guessed, and confirmed if the bytes up to it are one JSON object."""
    guess, view = at, memoryview(body)
    for _ in range(_MAX_GUESSES):
        guess = body.find(_NEXT, guess, end)
        if guess < 0:
            break
        guess += 1
        node = _node_or_none(bytes(view[at:guess]))
        if node is not None:
            return node
    return _node_or_none(bytes(view[at:end]))


def _node_or_none(raw: bytes) -> RawNode | None:
    try:
        node = decode(Node, raw)
    except DecodeError:
        return None
    return RawNode(node.metadata.name, raw, node) if is_text(raw) else None


def _is_object(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return data[:1] == b"{" and is_text(data)


def is_text(data: bytes | bytearray) -> bool:
    """Whether the bytes are UTF-8, which the JSON decoder does not check in members that it skips."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read_items(data: bytes) -> list[RawNode]:
    """The nodes of a NodeList, in any spelling."""
    items = members("request: Nodes", data).get("items", b"[]")
    found = []
    for raw in read(list[msgspec.Raw], "request: Nodes.items", items):
        item = bytes(raw)
        if item != b"null":
            found.append(RawNode(_name_of(item), item))
    return found


def _name_of(raw: bytes) -> str:
    try:
        return _named.decode(raw).metadata.name
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Tolerates nulls, or raises the error.
        return read_node(raw).metadata.name
