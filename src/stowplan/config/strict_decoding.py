"""Strict decoding that reports every unknown field and wrong type, where msgspec stops at the first.

msgspec's conversion is tried first. If it fails, one walk over the data, guided by msgspec's type information, collects
the errors and removes faulty values, so that the rest decodes and can be validated. The walk also drops null fields, as
Kubernetes does.

Upstream: k8s.io/apimachinery/pkg/runtime/serializer (strict codecs)
"""

import base64
import binascii
import difflib
from collections.abc import Callable, Iterable
from functools import cache, singledispatch
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

from stowplan.config.duration import Duration
from stowplan.config.errors import Problems

T = TypeVar("T")


def decode(value: object, kind: type[T], path: str, problems: Problems) -> T:
    """Convert plain data to a type whose structs all forbid unknown fields."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decode_custom)
    except msgspec.ValidationError:
        return decode_walking(value, kind, path, problems)


def decode_walking(value: object, kind: type[T], path: str, problems: Problems) -> T:
    """Convert plain data to a type that may contain API structs, which permit unknown fields."""
    cleaned = _clean(_describe(kind), value, path, problems)
    try:
        return msgspec.convert({} if cleaned is UNSET else cleaned, kind, dec_hook=_decode_custom)
    except msgspec.ValidationError as error:  # An integer that no float can hold.
        message, _, where = str(error).partition(" - at `$")
        problems.add(path + where.rstrip("`"), message)
        return msgspec.convert({}, kind, dec_hook=_decode_custom)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A suffix with the most similar known name; empty if none is similar."""
    known = list(known)
    close = [other for other in known if other.lower() == name.lower()]
    close = close or difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f' (did you mean "{close[0]}"?)' if close else ""


def type_name(value: object) -> str:
    """JSON's name of a value's type."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_TYPE_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    tuple: "a list",
    dict: "an object",
}
_ZEROES: dict[type, Any] = {inspect.StructType: {}, inspect.StrType: "", inspect.IntType: 0, inspect.AnyType: None}
"""Replacement of null and faulty list items, so that later items keep their index."""


def _zero(info: inspect.Type) -> Any:
    return _zero(info.type) if isinstance(info, inspect.Metadata) else _ZEROES[type(info)]


_describe: Callable[[Any], inspect.Type] = cache(inspect.type_info)


def _decode_custom(kind: type, value: Any) -> Any:
    if kind is Duration and isinstance(value, str):
        return Duration.parse(value)
    raise ValueError(f"cannot read {value!r} as {kind.__name__}")


def _expected(what: str, value: object, path: str, problems: Problems) -> Any:
    problems.add(path, f"expected {what}, got {type_name(value)}")
    return UNSET


@singledispatch
def _clean(info: inspect.Type, value: Any, path: str, problems: Problems) -> Any:
    """The value without faulty parts, UNSET if nothing is left. Types without a rule below accept any value."""
    return value


@_clean.register
def _(info: inspect.Metadata, value: Any, path: str, problems: Problems) -> Any:
    return _clean(info.type, value, path, problems)


@_clean.register
def _(info: inspect.StructType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, dict):
        return _expected("an object", value, path, problems)
    fields = {field.encode_name: field.type for field in info.fields}
    cleaned = {}
    for key, item in value.items():
        if key not in fields:
            problems.add(f"{path}.{key}", f"unknown field{suggestion(str(key), fields)}")
        elif item is not None and (kept := _clean(fields[key], item, f"{path}.{key}", problems)) is not UNSET:
            cleaned[key] = kept
    return cleaned


@_clean.register
def _(info: inspect.VarTupleType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, list | tuple):
        return _expected("a list", value, path, problems)
    cleaned = []
    for index, item in enumerate(value):
        kept = UNSET if item is None else _clean(info.item_type, item, f"{path}[{index}]", problems)
        cleaned.append(_zero(info.item_type) if kept is UNSET else kept)
    return cleaned


@_clean.register
def _(info: inspect.DictType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, dict):
        return _expected("an object", value, path, problems)
    cleaned = {key: _clean(info.value_type, item, f"{path}.{key}", problems) for key, item in value.items()}
    return {key: item for key, item in cleaned.items() if item is not UNSET}


@_clean.register
def _(info: inspect.UnionType, value: Any, path: str, problems: Problems) -> Any:
    # All unions here are of one type with None, which the callers handle.
    return next(_clean(kind, value, path, problems) for kind in info.types if not isinstance(kind, inspect.NoneType))


@_clean.register
def _(info: inspect.StrType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, str):
        return _expected("a string", value, path, problems)
    if info.min_length and not value:
        problems.required(path)
        return UNSET
    return value


@_clean.register
def _(info: inspect.BoolType, value: Any, path: str, problems: Problems) -> Any:
    return value if isinstance(value, bool) else _expected("a boolean", value, path, problems)


@_clean.register
def _(info: inspect.IntType, value: Any, path: str, problems: Problems) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return _expected("an integer", value, path, problems)
    return _within(info, value, path, problems)


@_clean.register
def _(info: inspect.FloatType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _expected("a number", value, path, problems)
    return _within(info, value, path, problems)


def _within(info: inspect.IntType | inspect.FloatType, value: Any, path: str, problems: Problems) -> Any:
    if info.ge is None or info.le is None or info.ge <= value <= info.le:
        return value
    problems.add(path, f"{value} is not between {info.ge} and {info.le}")
    return UNSET


@_clean.register
def _(info: inspect.BytesType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, str):
        return _expected("a base64 string", value, path, problems)
    # Line breaks are permitted, since YAML folds long lines.
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        problems.add(path, f"illegal base64 data: {error}")
        return UNSET
    return text


@_clean.register
def _(info: inspect.CustomType, value: Any, path: str, problems: Problems) -> Any:
    if not isinstance(value, str):
        return _expected("a duration such as 15s", value, path, problems)
    try:
        Duration.parse(value)
    except ValueError as error:
        problems.add(path, str(error))
        return UNSET
    return value
