"""Replies as Go's encoding/json reads them: where it is lenient, and where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

INT64 = range(-(1 << 63), 1 << 63)


class GoError(ValueError):
    """An error of Go's decoder, with its message."""


class GoNumber(str):
    """A number with its original text: Go rejects 7.0 as an integer."""

    __slots__ = ()


class JsonPath(NamedTuple):
    """Where a value goes: the innermost struct, the path of fields from the outermost one, and the type."""

    struct: str
    path: str
    type: str

    def __str__(self) -> str:
        where = f"struct field {self.struct}.{self.path}" if self.path else "value"
        return f"Go {where} of type {self.type}"


Reader = Callable[[Any, JsonPath], Any]
"""Converts a parsed value to the value that Go decodes, or raises GoError."""


def first_value(body: bytes) -> Any:
    """The first JSON value; Go's decoder ignores the bytes after it."""
    text = body.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if start == len(text):
        raise GoError("EOF")
    decoder = json.JSONDecoder(parse_int=GoNumber, parse_float=GoNumber, parse_constant=_no_constant)
    try:
        value, _ = decoder.raw_decode(text, start)
        return value
    except json.JSONDecodeError as problem:
        if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
            raise GoError("unexpected EOF") from problem
        raise GoError(f"invalid character {text[problem.pos]!r} looking for beginning of value") from problem
    except RecursionError as problem:
        raise GoError("exceeded max depth") from problem


def _no_constant(name: str) -> NoReturn:
    raise GoError(f"invalid character {name[0]!r} looking for beginning of value")


def read(reader: Reader, body: bytes, name: str) -> Any:
    return reader(first_value(body), JsonPath("", "", name))


def string(value: Any, place: JsonPath) -> str:
    if value is None:
        return ""
    if type(value) is not str:
        raise _mismatch(value, place)
    return value


def int64(value: Any, place: JsonPath) -> int:
    if value is None:
        return 0
    if not isinstance(value, GoNumber) or not value.removeprefix("-").isdigit() or int(value) not in INT64:
        raise _mismatch(value, place)
    return int(value)


def slice_of(element: Reader, type_name: str) -> Reader:
    """Null is nil, which is not the same as an empty slice."""

    def reader(value: Any, place: JsonPath) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _mismatch(value, place)
        return [element(each, place._replace(type=type_name)) for each in value]

    return reader


def map_of(element: Reader, type_name: str) -> Reader:
    def reader(value: Any, place: JsonPath) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(value, place)
        return {key: element(each, place._replace(type=type_name)) for key, each in value.items()}

    return reader


def struct(name: str, fields: Mapping[str, tuple[Reader, str]], *, pointer: bool = False) -> Reader:
    """Fields with the names of their types. A key matches exactly, else case-insensitively; of two the later counts;
    unknown keys are ignored. Null is a nil pointer, or a zero struct for a value."""
    by_lower = {field.lower(): field for field in fields}

    def reader(value: Any, place: JsonPath) -> dict[str, Any] | None:
        if value is None and pointer:
            return None
        if value is not None and not isinstance(value, dict):
            raise _mismatch(value, place)
        found: dict[str, Any] = {field: read_none(None, place) for field, (read_none, _) in fields.items()}
        for key, each in (value or {}).items():
            field = key if key in fields else by_lower.get(key.lower())
            if field is not None:
                read_field, type_name = fields[field]
                found[field] = read_field(each, JsonPath(name, f"{place.path}.{field}".lstrip("."), type_name))
        return found

    return reader


def _mismatch(value: Any, place: JsonPath) -> GoError:
    if isinstance(value, GoNumber):
        what = f"number {value}" if place.type == "int64" else "number"
    else:
        what = {dict: "object", list: "array", str: "string", bool: "bool"}[type(value)]
    return GoError(f"json: cannot unmarshal {what} into {place}")


_META = struct("ObjectMeta", {"name": (string, "string")})
_NODE = struct("Node", {"metadata": (_META, "v1.ObjectMeta")})
_LIST_META = struct("ListMeta", {"resourceVersion": (string, "string")})
_NODES = struct(
    "NodeList",
    {"metadata": (_LIST_META, "v1.ListMeta"), "items": (slice_of(_NODE, "v1.Node"), "[]v1.Node")},
    pointer=True,
)
_REASONS = map_of(string, "string")
_META_POD = struct("MetaPod", {"UID": (string, "string")}, pointer=True)
_META_VICTIMS = struct(
    "MetaVictims",
    {"Pods": (slice_of(_META_POD, "v1.MetaPod"), "[]*v1.MetaPod"), "NumPDBViolations": (int64, "int64")},
    pointer=True,
)

FILTER_RESULT = struct(
    "ExtenderFilterResult",
    {
        "Nodes": (_NODES, "v1.NodeList"),
        "NodeNames": (slice_of(string, "string"), "[]string"),
        "FailedNodes": (_REASONS, "v1.FailedNodesMap"),
        "FailedAndUnresolvableNodes": (_REASONS, "v1.FailedNodesMap"),
        "Error": (string, "string"),
    },
)
HOST_PRIORITIES = slice_of(
    struct("HostPriority", {"Host": (string, "string"), "Score": (int64, "int64")}), "v1.HostPriority"
)
BINDING_RESULT = struct("ExtenderBindingResult", {"Error": (string, "string")})
PREEMPTION_RESULT = struct(
    "ExtenderPreemptionResult",
    {"NodeNameToMetaVictims": (map_of(_META_VICTIMS, "v1.MetaVictims"), "map[string]*v1.MetaVictims")},
)
