"""Getting at the JSON of replies that are not quite JSON, or not what they should be."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from stowplan.extender.wire.errors import WireError

UNUSUAL = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Why a reply is not read the quick way."""

_GO_TYPES = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def first_value(body: bytes) -> bytes:
    """The first JSON value in a body. What comes after it does not count, and some writers' NaN is null."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise WireError("EOF")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"the reply is no JSON: {' '.join(text[:80].split())!r}") from error


def value_of(raw: bytes | None) -> Any:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except UnicodeError:
        return msgspec.json.decode(bytes(raw).decode("utf-8", "replace"))
    except RecursionError as error:
        raise WireError("the reply is nested too deeply") from error


def mismatch(value: Any, what: str, wanted: str, more: str = "") -> WireError:
    """In Go's words, by which people look for it."""
    return WireError(f"json: cannot unmarshal {_GO_TYPES.get(type(value), 'null')} into {what} of type {wanted}{more}")
