"""Decoding JSON and plain Python values to structs, and encoding. The only module that uses the JSON library.

In Kubernetes null means "not set" everywhere. The structs do not allow null, since every reader would have to handle
it, and objects from an API server hardly contain any. So an object is decoded as it is, and only if that fails its
nulls are removed and it is decoded again.

Upstream: k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from stowplan.errors import InputError

T = TypeVar("T")

_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_preparing = threading.Lock()
"""Serializes the first use of a type. msgspec publishes its description of a type before it is complete, and decoding
with it on another thread crashes the process."""

_ANY_KEY = "[...]"
_MAX_SEARCHED_KEYS = 1000
_MAX_DIGITS = 19
_steps = re.compile(r'\.(\w+)|\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]').findall
_split_path = re.compile(r"(?P<problem>.*) - at `(?P<where>.*)`", re.DOTALL).fullmatch


class DecodeError(InputError):
    """Data that is not JSON or does not fit the struct. One line: path, colon, problem."""


def decode(struct: type[T], data: bytes | str) -> T:
    """Decode JSON to a struct, or to any type that msgspec supports."""
    try:
        return _decoder(struct).decode(data)
    except msgspec.ValidationError:
        return _convert_without_nulls(struct, _parse(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError(_one_line(error)) from error


def decode_lines(struct: type[T], data: bytes) -> list[T]:
    """Decode JSON values, one per line, in one call. For data without nulls: `decode` removes them."""
    try:
        return _decoder(struct).decode_lines(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError(_one_line(error)) from error


def convert(struct: type[T], value: object) -> T:
    """Convert plain dicts, lists and scalars, such as parsed YAML, to a struct."""
    _decoder(struct)
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError:
        return _convert_without_nulls(struct, value)


def whole(data: bytes | str) -> dict[str, Any]:
    """Decode a JSON object with all fields."""
    value = _parse(data)
    if not isinstance(value, dict):
        raise DecodeError(f"$: Expected `object`, got `{type(value).__name__}`")
    return value


def encode(value: object) -> bytes:
    """Encode a struct or plain values as JSON; fields at their defaults are left out."""
    return msgspec.json.encode(value)


def builtins(value: object) -> Any:
    """A struct as plain dicts, lists and scalars, named as in JSON."""
    return msgspec.to_builtins(value)


def _decoder(struct: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(struct)
    if decoder is None:
        with _preparing:
            decoder = _decoders.get(struct) or msgspec.json.Decoder(struct)
            _decoders[struct] = decoder
    return decoder


def _parse(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.ValidationError as error:
        # Untyped data fails only for numbers out of range.
        path = next(_huge_numbers(json.loads(data, parse_int=_Digits)), "$")
        raise DecodeError(f"{path}: {str(error).partition(' - at ')[0]}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError(_one_line(error)) from error


class _Digits(str):
    """An integer as text."""


def _huge_numbers(value: Any, path: str = "$") -> Iterator[str]:
    """Paths of integers with more digits than fit into 64 bits."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        at = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        if isinstance(member, _Digits):
            yield from [at] if len(member) > _MAX_DIGITS else []
        else:
            yield from _huge_numbers(member, at)


def _convert_without_nulls(struct: type[T], value: object) -> T:
    stripped: object = None
    try:
        stripped = _without_nulls(value)
        return msgspec.convert(stripped, struct)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DecodeError(_name_keys(struct, stripped, _one_line(error))) from error


def _without_nulls(value: object) -> object:
    """The value without object members that are null."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _name_keys(struct: type[T], value: object, line: str) -> str:
    """Add map keys to the path of an error. msgspec leaves them out, so each entry is decoded alone to find the key."""
    while _ANY_KEY in line:
        path, rest = line.split(_ANY_KEY, 1)
        entries = _walk(value, path)
        if not isinstance(entries, dict) or not 0 < len(entries) <= _MAX_SEARCHED_KEYS:
            break
        for key, entry in list(entries.items()):
            entries.clear()
            entries[key] = entry
            try:
                msgspec.convert(value, struct)
            except msgspec.ValidationError:
                break
        line = f"{path}.{key}{rest}" if str(key).isidentifier() else f"{path}[{encode(key).decode()}]{rest}"
    return line


def _walk(value: Any, path: str) -> Any:
    """The value at a path, None if there is none."""
    for name, quoted, index in _steps(path):
        try:
            value = value[int(index)] if index else value[name or msgspec.json.decode(quoted)]
        except (LookupError, TypeError):
            return None
    return value


def _one_line(error: BaseException) -> str:
    """An error as `path: problem`; msgspec puts the path last."""
    match = _split_path(str(error))
    where, problem = (match["where"], match["problem"]) if match else ("$", str(error))
    return f"{where}: {' '.join(problem.split())}"
