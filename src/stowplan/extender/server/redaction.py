"""Strips secrets from recorded requests: environment values, annotations, command lines, names of secrets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

REDACTED = "REDACTED"

_DROPPED = frozenset({"managedfields"})
_HIDDEN_TEXT = frozenset({"command", "args", "message", "token", "httpheaders", "volumeattributes", "options"})
_HIDDEN_VALUES = frozenset({"annotations"})
_SECRETIVE = frozenset({"secret", "secretref", "secretkeyref", "imagepullsecrets", "configmapref", "configmapkeyref"})


def redact(value: Any, keep: Collection[str] = ()) -> Any:
    """A copy of a parsed request without values of environment variables and annotations, names of secrets, command
    lines and managed fields. Annotations whose key is in `keep` stay."""
    if isinstance(value, list):
        return [redact(item, keep) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _member(key.lower(), item, keep) for key, item in value.items() if key.lower() not in _DROPPED}


def _member(key: str, item: Any, keep: Collection[str]) -> Any:
    if item is None:
        return None
    if key in _HIDDEN_TEXT:
        return _hidden(item)
    if key in _HIDDEN_VALUES and isinstance(item, dict):
        return {name: text if name in keep else REDACTED for name, text in item.items()}
    if key in _SECRETIVE:
        return _hidden(item)
    if key == "env" and isinstance(item, list):
        return [_without_value(variable, keep) for variable in item]
    return redact(item, keep)


def _without_value(variable: Any, keep: Collection[str]) -> Any:
    plain = redact(variable, keep)
    if isinstance(plain, dict):
        return {name: REDACTED if name.lower() == "value" else item for name, item in plain.items()}
    return plain


def _hidden(item: Any) -> Any:
    """The same shape with every text hidden."""
    if isinstance(item, str):
        return REDACTED
    if isinstance(item, list):
        return [_hidden(each) for each in item]
    if isinstance(item, dict):
        return {key: _hidden(each) for key, each in item.items()}
    return item
