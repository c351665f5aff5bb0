"""Parts of values: fields, keys and elements, plainly or as optionals."""

from __future__ import annotations

from typing import Any

from stowplan.cel.values import (
    EMPTY_DOMAIN,
    NO_OVERLOAD,
    NONE,
    CelError,
    Domains,
    Optional,
    UInt,
    type_name,
)

_MISSING = object()


def select(value: Any, name: str) -> Any:
    """A field by its name."""
    found = _entry(value, name)
    if found is _MISSING:
        raise CelError(f"no such key: {name}")
    return found


def find(value: Any, name: str) -> Optional:
    """The same as an optional; of an optional, the field of what it holds."""
    if type(value) is Optional:
        return find(value.value, name) if value.present else NONE
    found = _entry(value, name)
    return NONE if found is _MISSING else Optional(True, found)


def is_present(value: Any, name: str) -> bool:
    """Whether a field is there."""
    if type(value) is Optional:
        return value.present and is_present(value.value, name)
    return _entry(value, name) is not _MISSING


def index(value: Any, at: Any) -> Any:
    """An element of a list or an entry of a map."""
    if type(value) is Optional:
        return present_index(value, at)
    if type(value) is list:
        position = _position(at)
        if not 0 <= position < len(value):
            raise CelError(f"index out of bounds: {position}")
        return value[position]
    if isinstance(value, dict):
        found = _keyed(value, at)
        if found is _MISSING:
            raise CelError(f"no such key: {shown(at)}")
        return found
    raise CelError(f"no such key: {shown(at)}")


def present_index(value: Any, at: Any) -> Optional:
    """The same as an optional."""
    if type(value) is Optional:
        return present_index(value.value, at) if value.present else NONE
    if type(value) is list:
        position = _position(at)
        return Optional(True, value[position]) if 0 <= position < len(value) else NONE
    if isinstance(value, dict):
        found = _keyed(value, at)
        return NONE if found is _MISSING else Optional(True, found)
    raise CelError(NO_OVERLOAD)


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _entry(value: Any, name: str) -> Any:
    if type(value) is Domains:
        return value.get(name, EMPTY_DOMAIN)
    if type(value) is list:
        raise CelError("unsupported index type 'string' in list")
    return value.get(name, _MISSING) if isinstance(value, dict) else _MISSING


def _keyed(value: dict[Any, Any], at: Any) -> Any:
    if type(value) is Domains and isinstance(at, str):
        return value.get(at, EMPTY_DOMAIN)
    if not isinstance(at, (str, int, float)):
        return _MISSING
    return value.get(at, _MISSING)


def _position(at: Any) -> int:
    if type(at) in (int, UInt) or (type(at) is float and at == int(at)):
        return int(at)
    raise CelError(f"unsupported index type '{type_name(at)}' in list")
