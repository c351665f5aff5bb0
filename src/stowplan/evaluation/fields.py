"""The fields of a case as raw JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from stowplan.errors import InputError

Fields = dict[str, msgspec.Raw]

_split = msgspec.json.Decoder(Fields).decode
_decode_id: Callable[[Any], str | int | None] = msgspec.json.Decoder(str | int | None).decode
_next_name = re.compile(rb'[\s,]*"([^"\\]*)"\s*:\s*').match
_find_id = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,18}\b)').search

_MAX_SEARCHED_BYTES = 4096
_CUT_OFF = "Input data was truncated"


def fields_of(line: bytes) -> Fields:
    """The fields of the line's JSON object, without those that are null."""
    try:
        if not line.isascii():
            line.decode()
        fields = _split(line)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    except msgspec.DecodeError as error:
        on_a_line = str(error) == _CUT_OFF and b"\n" not in line.strip()
        hint = ": the file has one case per line" if on_a_line else ""
        raise InputError(f"$: {error}{hint}") from error
    if not _one_after_another(line, fields):
        _refuse_repeated(line)
    return {name: value for name, value in fields.items() if bytes(memoryview(value)[:5]) != b"null"}


def is_cut_off(text: bytes) -> bool:
    """Whether the text is the beginning of a JSON object."""
    try:
        _split(text)
    except msgspec.ValidationError:
        return False
    except msgspec.DecodeError as error:
        return str(error) == _CUT_OFF
    except (UnicodeError, RecursionError):
        return False
    return False


def id_of(line: bytes) -> str | int | None:
    """The id of a case that may be malformed; None if it cannot be found."""
    try:
        return _decode_id(_split(line)["id"])
    except (KeyError, msgspec.ValidationError):
        return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        found = _find_id(line[:_MAX_SEARCHED_BYTES])
    try:
        return _decode_id(found[1]) if found else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def _one_after_another(line: bytes, fields: Fields) -> bool:
    """Whether the line has exactly these fields in this order; if so, no field is repeated."""
    at = line.index(b"{") + 1
    for name, value in fields.items():
        found = _next_name(line, at)
        text = bytes(value)
        if found is None or found[1] != name.encode() or not line.startswith(text, found.end()):
            return False
        at = found.end() + len(text)
    return line[at : at + _MAX_SEARCHED_BYTES].lstrip().startswith(b"}")


def _refuse_repeated(line: bytes) -> None:
    """The exact check for repeated fields, with a slower parser that needs more memory."""
    names: Any = json.loads(line, object_pairs_hook=_names, parse_int=len, parse_float=len)
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"$.{name}: given more than once")


def _names(pairs: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in pairs]
