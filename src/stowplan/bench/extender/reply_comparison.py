"""Comparison of two replies."""

from __future__ import annotations

import json
from typing import Any


def differences(verb: str, ours: bytes, theirs: bytes) -> list[str]:
    """The differences, as texts."""
    mine, other = json.loads(ours), json.loads(theirs)
    if verb == "prioritize":
        return _compare("scores", _scores(mine), _scores(other))
    found = _compare("names of nodes", mine["NodeNames"], other["NodeNames"])
    for member in ("FailedNodes", "FailedAndUnresolvableNodes", "Error"):
        found += _compare(member, mine[member] or None, other[member] or None)
    return found + _compare("nodes", _nodes(mine["Nodes"]), _nodes(other["Nodes"]))


def _compare(what: str, ours: Any, theirs: Any) -> list[str]:
    return [] if ours == theirs else [f"{what}: {ours!r:.200} here, {theirs!r:.200} there"]


def _scores(answer: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(entry["Host"], entry["Score"]) for entry in answer]


def _nodes(answer: dict[str, Any] | None) -> list[Any] | None:
    """Nodes without the empty structs and nulls that Go adds."""
    return None if answer is None else [_without_empty(node) for node in answer["items"]]


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member not in (None, {}, "")}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
