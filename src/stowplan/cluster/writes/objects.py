"""Reads and writes of objects of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.codec import DecodeError
from stowplan.cluster import wire
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.wire import collection_path, object_path
from stowplan.cluster.write_client import JSON, Writer, WriteRequest
from stowplan.cluster.writes import api_failures
from stowplan.cluster.writes.bindings import Answer
from stowplan.framework import Failure, Write

_METHODS = {"get": b"GET", "create": b"POST", "patch": b"PATCH", "delete": b"DELETE"}
_CONTENT_TYPES = {"get": JSON, "create": JSON, "patch": wire.MERGE_PATCH, "delete": JSON}


def write(writer: Writer, kinds: Mapping[str, api.Kind], instruction: Write, answer: Answer) -> None:
    """Carry out a `Write` instruction. `kinds` are the kinds by name, as the server has them."""
    kind = kinds.get(instruction.kind)
    if kind is None:
        answer(instruction, Failure("the server could not find the requested resource", "NotFound"))
    else:
        make = _ObjectStatusRequest if instruction.subresource == "status" else _WriteRequest
        writer.submit(make(instruction, kind, answer))


class _WriteRequest(WriteRequest):
    __slots__ = ("_answer", "_instruction", "_kind")

    def __init__(self, instruction: Write, kind: api.Kind, answer: Answer) -> None:
        verb = instruction.verb
        super().__init__(
            _METHODS[verb], _path(instruction, kind).encode(), _body(instruction, kind), _CONTENT_TYPES[verb]
        )
        self._instruction = instruction
        self._kind = kind
        self._answer = answer

    def replied(self, status: int, body: bytes) -> None:
        self._answer(self._instruction, self._outcome(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._answer(self._instruction, api_failures.lost(error, sent))

    def _outcome(self, status: int, body: bytes) -> Any:
        if status >= api_failures.SUCCESS:
            return api_failures.refused(status, body)
        if self._instruction.verb == "delete":
            return self._instruction.item  # The server replies with the object or with a Status.
        try:
            return self._kind.decode(body)
        except DecodeError as error:
            return Failure(f"the reply makes no sense: {error}", "InternalError")


class _ObjectStatusRequest(_WriteRequest):
    """A status follows a write of the object itself: a claim gets its finalizer before its allocation."""

    __slots__ = ()

    finishes = True


def _path(instruction: Write, kind: api.Kind) -> str:
    metadata = instruction.item.metadata
    namespace = metadata.namespace if kind.namespaced else ""
    if instruction.verb == "create":
        return collection_path(kind, namespace)
    path = object_path(kind, metadata.name, namespace)
    return f"{path}/{instruction.subresource}" if instruction.subresource else path


def _body(instruction: Write, kind: api.Kind) -> bytes:
    metadata = instruction.item.metadata
    if instruction.verb == "get":
        return b""
    if instruction.verb == "delete":
        return wire.delete_options(metadata.uid) if metadata.uid else b""
    if instruction.verb == "create":
        return codec.encode({"apiVersion": kind.api_version, "kind": kind.name, **codec.builtins(instruction.item)})
    changes = dict(instruction.changes or {})
    identity = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    changes["metadata"] = {**changes.get("metadata", {}), **{key: value for key, value in identity.items() if value}}
    return codec.encode(changes)
