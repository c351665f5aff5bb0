"""Members of JSON objects by case-insensitive key.

Go matches keys without regard to case; of two spellings of one key the later one counts. Separators are not folded.
Only the protocol's own objects are read so; keys inside pods and nodes are case-sensitive, as in the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from stowplan.extender.wire.errors import WireError

T = TypeVar("T")

ALIASES = {"nodetovictims": "nodenametovictims"}
"""Other spellings of a key: the public types of old releases have this name for the map of victims."""

NULL = b"null"

Data = bytes | bytearray | memoryview | msgspec.Raw

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def members(what: str, data: Data) -> dict[str, bytes]:
    """The members of an object as bytes, by lower-case key, without null members.

    `what` names the object in errors.
    """
    found = _decode(_members, what, data)
    folded = {fold(key): bytes(value) for key, value in found.items()}
    return {key: value for key, value in folded.items() if value != NULL}


def fold(key: str) -> str:
    lower = key.lower()
    return ALIASES.get(lower, lower)


def folded(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same for an object that is parsed already."""
    found = {fold(key): value for key, value in values.items()}
    return {key: value for key, value in found.items() if value is not None}


def read(kind: type[T], what: str, data: Data) -> T:
    """Decode a value of a simple type."""
    return _decode(msgspec.json.Decoder(kind), what, data)


def _decode(decoder: msgspec.json.Decoder[T], what: str, data: Data) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise WireError(f"{what}: {' '.join(str(problem).split())}") from problem
