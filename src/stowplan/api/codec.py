"""JSON and plain Python values in, structs out, and back: the one module that knows the JSON library.

In Kubernetes null means "not set", wherever it stands. Structs do not allow for it, since that would burden every
reader, and objects from an API server hardly contain any. So decoding is tried as is, and only an object that fails is
stripped of its nulls and tried again.
"""

import re
import threading
from typing import Any, TypeVar

import msgspec

from stowplan.errors import InputError

T = TypeVar("T")

_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_preparing = threading.Lock()
"""msgspec describes a type to itself when it first meets it, and lets other threads see what is unfinished: decoding by
that crashes the process. So one thread at a time meets new types."""

_ANY_KEY = "[...]"
_MOST_KEYS = 1000
_steps = re.compile(r'\.(\w+)|\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]').findall
_split_path = re.compile(r"(?P<problem>.*) - at `(?P<where>.*)`", re.DOTALL).fullmatch


class DecodeError(InputError):
    """Data that is no JSON, or not the JSON of what it should be. One line: path, colon, problem."""


def decode(struct: type[T], data: bytes | str) -> T:
    """Decode JSON into a struct, or into any type that msgspec knows."""
    try:
        return _decoder(struct).decode(data)
    except msgspec.ValidationError:
        return _convert_without_nulls(struct, _parse(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError(_one_line(error)) from error


def convert(struct: type[T], value: object) -> T:
    """Make a struct of plain dicts, lists and scalars, such as parsed YAML."""
    _decoder(struct)
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError:
        return _convert_without_nulls(struct, value)


def whole(data: bytes | str) -> dict[str, Any]:
    """Decode a JSON object entirely, unread fields included."""
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
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError(_one_line(error)) from error


def _convert_without_nulls(struct: type[T], value: object) -> T:
    stripped: object = None
    try:
        stripped = _without_nulls(value)
        return msgspec.convert(stripped, struct)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DecodeError(_name_keys(struct, stripped, _one_line(error))) from error


def _without_nulls(value: object) -> object:
    """The same value with every object member that is null left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _name_keys(struct: type[T], value: object, line: str) -> str:
    """The error with the keys of maps in its path, which msgspec leaves out: they are found by trying each alone."""
    while _ANY_KEY in line:
        path, rest = line.split(_ANY_KEY, 1)
        entries = _walk(value, path)
        if not isinstance(entries, dict) or not 0 < len(entries) <= _MOST_KEYS:
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
    """What stands at a path, None if nothing does."""
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
