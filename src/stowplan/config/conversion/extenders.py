"""Extenders of a Policy and of v1alpha2: case-insensitive keys, unknown ones ignored, timeouts in nanoseconds."""

from collections.abc import Iterable
from typing import Any

import msgspec

from stowplan.config.conversion.casing import fold
from stowplan.config.conversion.notices import Notices
from stowplan.config.duration import Duration
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import suggestion, type_name
from stowplan.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig

_MILLISECOND_NANOSECONDS = 1_000_000
_NESTED: dict[str, type[msgspec.Struct]] = {
    "tlsConfig": ExtenderTLSConfig,
    "managedResources": ExtenderManagedResource,
}


def convert_extenders(entries: Iterable[Any], root: str, notices: Notices, problems: Problems) -> list[dict[str, Any]]:
    """The entries as v1. Paths begin with `root`."""
    return [_convert(entry, f"{root}.extenders[{index}]", notices, problems) for index, entry in enumerate(entries)]


def _convert(entry: Any, path: str, notices: Notices, problems: Problems) -> dict[str, Any]:
    if not isinstance(entry, dict):
        problems.add(path, f"expected an object, got {type_name(entry)}")
        return {}
    known = _known(fold(entry, Extender), Extender, path, notices)
    for field, kind in _NESTED.items():
        nested = known.get(field)
        if isinstance(nested, dict):
            known[field] = _known(nested, kind, f"{path}.{field}", notices)
        elif isinstance(nested, list):
            known[field] = [
                _known(item, kind, f"{path}.{field}[{index}]", notices) if isinstance(item, dict) else item
                for index, item in enumerate(nested)
            ]
    _convert_timeout(known, f"{path}.httpTimeout", notices)
    return known


def _known(entry: dict[str, Any], kind: type[msgspec.Struct], path: str, notices: Notices) -> dict[str, Any]:
    fields = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in entry:
        if key not in fields:
            notices.add(f"{path}.{key}", f"unknown field, which has no effect{suggestion(key, fields)}")
    return {key: value for key, value in entry.items() if key in fields}


def _convert_timeout(entry: dict[str, Any], path: str, notices: Notices) -> None:
    timeout = entry.get("httpTimeout")
    if isinstance(timeout, str):
        notices.add(path, "this version has whole nanoseconds here; the text is taken for a duration, as in v1")
    elif isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout == int(timeout):
        entry["httpTimeout"] = str(Duration(int(timeout)))
        if 0 < timeout < _MILLISECOND_NANOSECONDS:
            text = f"this version has nanoseconds here: {int(timeout)} of them are over before any reply"
            notices.add(path, f"{text}; write {int(timeout)}s, or {int(timeout)}ms, in v1")
