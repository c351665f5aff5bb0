"""Recovers JSON from replies that are not valid JSON, or have other types than expected."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from stowplan.extender.wire.errors import WireError

UNUSUAL = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Why a reply is not read the quick way."""

_SYNTAX = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name": "looking for beginning of object key string",
    "Expecting ':'": "after object key",
    "Expecting ','": "after array element or object key:value pair",
}
_GO_TYPES = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def first_value(body: bytes) -> bytes:
    """The first JSON value in a body. Trailing bytes are ignored, and NaN counts as null."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise WireError("EOF")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        return msgspec.json.encode(value)
    except json.JSONDecodeError as error:
        raise WireError(f"{_in_words(error, text)} (the reply begins with {text[:60]!r})") from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"the reply is not readable JSON: {error}") from error


def _in_words(error: json.JSONDecodeError, text: str) -> str:
    """Go's error message."""
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected EOF"
    where = next((words for begin, words in _SYNTAX.items() if error.msg.startswith(begin)), "in string literal")
    return f"invalid character {text[error.pos]!r} {where}"


def value_of(raw: bytes | None) -> Any:
    """The text; invalid UTF-8 is replaced, as in Go."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except UnicodeError:
        return msgspec.json.decode(bytes(raw).decode("utf-8", "replace"))
    except RecursionError as error:
        raise WireError("the reply is nested too deeply") from error


def mismatch(value: Any, what: str, wanted: str, more: str = "") -> WireError:
    """A value of another type than it should have, in Go's words."""
    return WireError(f"json: cannot unmarshal {_GO_TYPES.get(type(value), 'null')} into {what} of type {wanted}{more}")
