"""Paths into documents: `workloads.batch.arrivals.rate`, `profiles[0].plugins.score.NodeResourcesFit.weight`.

A part of a path is a key of a mapping, an index in brackets, or the name of an item of a list. In a plugin set of a
KubeSchedulerConfiguration it is the name of an enabled plugin.
"""

from __future__ import annotations

import re
from typing import Any

from stowplan.config.strict_decoding import suggestion
from stowplan.errors import InputError

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_PLUGIN_SET = frozenset({"enabled", "disabled"})


def parse_path(path: str) -> list[str | int]:
    """The parts of a path; indices are numbers. A name with dots is quoted: `a."b.c"`."""
    parts: list[str | int] = []
    for number, chunk in enumerate(path.split('"')):
        if number % 2:
            parts.append(chunk)
        else:
            parts += [int(index) if index else name for index, name in _PART.findall(chunk)]
    if not parts:
        raise InputError(f'"{path}" is not a path')
    return parts


def set_path(document: Any, path: str, value: Any, *, append: bool = True, origin: str = "") -> None:
    """Set a value in a document, in place. Mappings that are missing are made, and with `append` named items too.

    `origin` is the place of the path, for errors.
    """
    parts = parse_path(path)
    path = origin + path
    here = document
    for number, part in enumerate(parts[:-1]):
        here = _step(here, part, path, append=append, is_plugin_set=number > 0 and parts[number - 1] == "plugins")
    last, is_set = parts[-1], len(parts) > 1 and parts[-2] == "plugins"
    if isinstance(here, list) and isinstance(last, int):
        if last >= len(here):
            raise InputError(f"{path}: no item {last}")
        here[last] = value
    elif isinstance(here, dict) and isinstance(last, str):
        if is_set and last not in here:
            here[last] = {}
        here[last] = value
    else:
        raise InputError(f'{path}: "{last}" is not a field there')


def _step(here: Any, part: str | int, path: str, *, append: bool, is_plugin_set: bool) -> Any:
    if isinstance(here, list):
        return _item(here, part, path, append=append)
    if not isinstance(here, dict) or isinstance(part, int):
        raise InputError(f'{path}: "{part}" is not a field there')
    if here.keys() <= _PLUGIN_SET and here and part not in here:
        return _item(here.setdefault("enabled", []), part, path, append=append)
    if here.get(part) is None:
        here[part] = {"enabled": []} if is_plugin_set else {}
    return here[part]


def _item(items: list[Any], part: str | int, path: str, *, append: bool) -> Any:
    if isinstance(part, int):
        if part >= len(items):
            raise InputError(f"{path}: no item {part}")
        return items[part]
    for item in items:
        if isinstance(item, dict) and item.get("name") == part:
            return item
    if not append:
        names = [str(item["name"]) for item in items if isinstance(item, dict) and "name" in item]
        raise InputError(f'{path}: no item is named "{part}"{suggestion(part, names)}')
    items.append({"name": part})
    return items[-1]
