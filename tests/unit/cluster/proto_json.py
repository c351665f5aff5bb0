"""Kubernetes' messages in protobuf as the JSON they stand for, read by a parser that shares nothing with the writer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import Any

_META = {1: "name", 3: "namespace", 5: "uid"}
_REFERENCE = {
    1: "kind",
    2: "namespace",
    3: "name",
    4: "uid",
    5: "apiVersion",
    6: "resourceVersion",
    7: "fieldPath",
}
_TIME = {1: "seconds", 2: "nanos"}
_SCHEMAS: dict[str, dict[int, Any]] = {
    "Binding": {1: ("metadata", _META), 2: ("target", _REFERENCE)},
    "Event": {
        1: ("metadata", _META),
        2: ("eventTime", _TIME),
        3: ("series", {1: "count", 2: ("lastObservedTime", _TIME)}),
        4: "reportingController",
        5: "reportingInstance",
        6: "action",
        7: "reason",
        8: ("regarding", _REFERENCE),
        9: ("related", _REFERENCE),
        10: "note",
        11: "type",
    },
}


def read_body(body: bytes, content_type: str) -> Any:
    return to_json(body) if content_type == "application/vnd.kubernetes.protobuf" else json.loads(body)


def to_json(body: bytes) -> dict[str, Any]:
    """The content of a body without empty fields."""
    assert body[:4] == b"k8s\0"
    kind, raw = (content for _, content in _split(body[4:]))
    api_version, name = (text.decode() for _, text in _split(kind))
    return {"apiVersion": api_version, "kind": name, **_spell_out(raw, _SCHEMAS[name])}


def _spell_out(message: bytes, schema: dict[int, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for number, content in _split(message):
        spec = schema[number]
        if isinstance(spec, tuple):
            name, inner = spec
            told[name] = _moment(content) if inner is _TIME else _spell_out(content, inner)
        elif content != b"":
            told[spec] = content.decode() if isinstance(content, bytes) else content
    return told


def _moment(message: bytes) -> str:
    told = dict(_split(message))
    assert told[2] % 1000 == 0
    return f"{datetime.fromtimestamp(told[1], UTC):%Y-%m-%dT%H:%M:%S}.{told[2] // 1000:06}Z"


def _split(message: bytes) -> list[tuple[int, Any]]:
    stream, found = iter(message), []
    for byte in stream:
        number, wire_type = byte >> 3, byte & 7
        assert byte < 0x80
        value = shift = 0
        for part in stream:
            value |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                break
        assert wire_type in (0, 2)
        if wire_type == 2:
            content = bytes(islice(stream, value))
            assert len(content) == value
            found.append((number, content))
        else:
            found.append((number, value))
    return found
