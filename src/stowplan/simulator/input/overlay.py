"""Overlays: an object of a later file merged into the object of the same kind and name of an earlier one.

The merge is a strategic merge patch, as by `kubectl patch` and kustomize: objects are merged field by field, null
deletes a field, lists with a merge key are merged element by element (containers by name), other lists are replaced. An
element or object with `$patch: delete` is deleted, one with `$patch: replace` replaces the earlier one. Objects of
kinds whose fields are not known are merged by a JSON merge patch, which replaces all lists.

Upstream: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
"""

from __future__ import annotations

from typing import Any

from stowplan.api.fields import ApiType

Json = dict[str, Any]

_DIRECTIVE = "$patch"


def is_deletion(patch: Any) -> bool:
    """Whether the patch deletes the object or element."""
    return isinstance(patch, dict) and patch.get(_DIRECTIVE) == "delete"


def merged(base: Json, patch: Json, known: ApiType | None) -> Json:
    """The base with the fields of the patch."""
    if patch.get(_DIRECTIVE) == "replace":
        return {key: _plain(value) for key, value in patch.items() if value is not None and key != _DIRECTIVE}
    result = dict(base)
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None or is_deletion(value):
            result.pop(name, None)
            continue
        result[name] = _merged_field(result.get(name), value, name, known)
    return result


def _merged_field(old: Any, value: Any, name: str, known: ApiType | None) -> Any:
    field = None if known is None else known.fields.get(name)
    below = None if known is None or field is None else known.below(name)
    if isinstance(value, dict) and isinstance(old, dict):
        if field is not None and field.is_map:
            return {**old, **{key: _merged_value(old.get(key), part, below) for key, part in value.items()}}
        return merged(old, value, below)
    if isinstance(value, list) and isinstance(old, list) and field is not None and field.merge_key is not None:
        if any(isinstance(part, dict) and part.get(_DIRECTIVE) == "replace" for part in value):
            return _plain([part for part in value if _DIRECTIVE not in part])
        return _merged_list(old, value, field.merge_key, below)
    return _plain(value)


def _merged_value(old: Any, value: Any, known: ApiType | None) -> Any:
    return merged(old, value, known) if isinstance(old, dict) and isinstance(value, dict) else _plain(value)


def _merged_list(old: list[Any], patch: list[Any], merge_key: str, known: ApiType | None) -> list[Any]:
    """Elements of the patch with a known key are merged, others are appended."""
    if not merge_key:
        return [*old, *(part for part in patch if part not in old)]
    result = list(old)
    for part in patch:
        key = part.get(merge_key) if isinstance(part, dict) else None
        index = next(
            (i for i, each in enumerate(result) if isinstance(each, dict) and each.get(merge_key) == key), None
        )
        if index is None:
            result += [] if is_deletion(part) else [_plain(part)]
        elif is_deletion(part):
            del result[index]
        else:
            result[index] = merged(result[index], part, known)
    return result


def _plain(value: Any) -> Any:
    """The value without directives and null fields."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if part is not None and not key.startswith("$")}
    return [_plain(part) for part in value] if isinstance(value, list) else value
