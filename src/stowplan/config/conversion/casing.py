"""Case-insensitive keys and Go field names, converted to the API's spelling."""

from typing import Any

import msgspec
from msgspec import inspect

_GO_NAMES = {"extenderconfigs": "extenders", "utilizationshape": "shape"}
"""Go field names that differ from the API's by more than case. Policies without a kind were read by these."""


def fold(value: Any, kind: type[msgspec.Struct]) -> Any:
    """The data with keys respelt, recursively, that are fields of the type; other keys are kept."""
    return _fold(value, inspect.type_info(kind))


def _fold(value: Any, info: inspect.Type) -> Any:
    if isinstance(info, inspect.UnionType):
        info = next(kind for kind in info.types if not isinstance(kind, inspect.NoneType))
    if isinstance(info, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in info.fields}
        folded = {name.lower(): name for name in fields}
        respelt = {key: _name(key, fields, folded) for key in value}
        return {
            name: _fold(value[key], fields[name]) if name in fields else value[key] for key, name in respelt.items()
        }
    if isinstance(info, inspect.VarTupleType) and isinstance(value, list | tuple):
        return [_fold(item, info.item_type) for item in value]
    return value


def _name(key: str, fields: dict[str, inspect.Type], folded: dict[str, str]) -> str:
    lowered = key.lower()
    return key if key in fields else folded.get(_GO_NAMES.get(lowered, lowered), key)
