"""Replies of extenders, read with tolerance.

Lists of nodes and of victims must have the type that the protocol defines, as for kube-scheduler. Of reasons and scores
the readable part is taken, and the rest is listed in `problems`.

Upstream: k8s.io/kube-scheduler/extender/v1/types.go, encoding/json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from stowplan.extender.wire.keys import folded
from stowplan.extender.wire.salvage import UNUSUAL, first_value, mismatch, value_of

MAX_LISTED_PROBLEMS = 8
"""Maximum number of listed problems of a reply."""


class FilterResult(NamedTuple):
    """An ExtenderFilterResult; a missing list is None."""

    node_names: list[str] | None
    nodes: list[str] | None
    """The names of the nodes that came back whole."""
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str
    problems: Sequence[str]


class HostPriorities(NamedTuple):
    """Scores in the order in which they came; a host may stand there twice."""

    scores: list[tuple[str, float]]
    problems: Sequence[str] = ()


class MetaVictims(NamedTuple):
    """The victims of a node in an ExtenderPreemptionResult."""

    uids: tuple[str, ...]
    violations: int = 0


class _NamedNode(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _NodeItem(msgspec.Struct, frozen=True, gc=False):
    metadata: _NamedNode


class _Items(msgspec.Struct, frozen=True):
    items: list[_NodeItem]


class _ExactReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply to `filter` as most write it, which is read in one go."""

    Nodes: _Items | None = None
    NodeNames: list[str] | None = None
    FailedNodes: dict[str, str] | None = None
    FailedAndUnresolvableNodes: dict[str, str] | None = None
    Error: str | None = None


class _HostPriority(msgspec.Struct, frozen=True, gc=False):
    Host: str
    Score: int


_NULL = msgspec.Raw(b"null")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_exact = msgspec.json.Decoder(_ExactReply)
_items = msgspec.json.Decoder(_Items)
_names = msgspec.json.Decoder(list[str])
_priorities = msgspec.json.Decoder(list[_HostPriority])


def read_filter_result(body: bytes) -> FilterResult:
    """Raises WireError where kube-scheduler would find no answer in it."""
    try:
        found = _exact.decode(body)
    except UNUSUAL:
        return _read_unusual(body)
    nodes = None if found.Nodes is None else [item.metadata.name for item in found.Nodes.items]
    refused = (found.FailedNodes or {}, found.FailedAndUnresolvableNodes or {})
    return FilterResult(found.NodeNames, nodes, *refused, found.Error or "", ())


def _read_unusual(body: bytes) -> FilterResult:
    members = _folded(body, "ExtenderFilterResult")
    problems: list[str] = []
    error = value_of(members.get("error"))
    if error is not None and not isinstance(error, str):
        raise mismatch(error, "Go struct field ExtenderFilterResult.Error", "string")
    return FilterResult(
        node_names=_read_names(members.get("nodenames")),
        nodes=_read_nodes(members.get("nodes")),
        failed=_read_reasons(members.get("failednodes"), "FailedNodes", problems),
        unresolvable=_read_reasons(members.get("failedandunresolvablenodes"), "FailedAndUnresolvableNodes", problems),
        error=error or "",
        problems=problems,
    )


def read_host_priorities(body: bytes) -> HostPriorities:
    """Raises WireError if the reply is not a list."""
    try:
        return HostPriorities([(each.Host, each.Score) for each in _priorities.decode(body)])
    except UNUSUAL:
        pass  # Entry by entry, then.
    value = value_of(first_value(body))
    if value is None:
        return HostPriorities([])
    if not isinstance(value, list):
        error = folded(value).get("error") if isinstance(value, dict) else None
        raise mismatch(value, "Go value", "v1.HostPriorityList", f": {error}" if error else "")
    problems: list[str] = []
    scores = [found for entry in value if (found := _score(entry, problems)) is not None]
    return HostPriorities(scores, problems)


def read_bind_result(body: bytes) -> str:
    """The error of an ExtenderBindingResult, "" on success. Raises WireError."""
    error = value_of(_folded(body, "ExtenderBindingResult").get("error"))
    return error if isinstance(error, str) else "" if error is None else json.dumps(error)


def read_preempt_result(body: bytes) -> dict[str, MetaVictims]:
    """Victims by node; null means no victims. Raises WireError."""
    listed = value_of(_folded(body, "ExtenderPreemptionResult").get("nodenametometavictims"))
    if listed is None:
        return {}
    if not isinstance(listed, dict):
        field = "Go struct field ExtenderPreemptionResult.NodeNameToMetaVictims"
        raise mismatch(listed, field, "map[string]*v1.MetaVictims")
    return {node: _meta_victims(victims) for node, victims in listed.items()}


def _meta_victims(value: Any) -> MetaVictims:
    if value is None:
        return MetaVictims(())
    if not isinstance(value, dict):
        raise mismatch(value, "Go struct field ExtenderPreemptionResult.NodeNameToMetaVictims", "v1.MetaVictims")
    members = folded(value)
    pods, violations = members.get("pods") or [], members.get("numpdbviolations") or 0
    if not isinstance(pods, list):
        raise mismatch(pods, "Go struct field MetaVictims.NodeNameToMetaVictims.Pods", "[]*v1.MetaPod")
    if type(violations) is not int:
        raise mismatch(violations, "Go struct field MetaVictims.NodeNameToMetaVictims.NumPDBViolations", "int64")
    uids = [folded(pod).get("uid") for pod in pods if isinstance(pod, dict)]
    return MetaVictims(tuple(uid for uid in uids if isinstance(uid, str)), violations)


def _read_names(raw: bytes | None) -> list[str] | None:
    if raw is None:
        return None
    try:
        return _names.decode(raw)
    except UNUSUAL:
        value = value_of(raw)
    if isinstance(value, list):
        odd = next((each for each in value if each is not None and not isinstance(each, str)), None)
        if odd is None:
            return [each or "" for each in value]
        value = odd
    raise mismatch(value, "Go struct field ExtenderFilterResult.NodeNames", "[]string")


def _read_nodes(raw: bytes | None) -> list[str] | None:
    if raw is None:
        return None
    try:
        return [item.metadata.name for item in _items.decode(raw).items]
    except UNUSUAL:
        value = value_of(raw)
    if not isinstance(value, dict):
        raise mismatch(value, "Go struct field ExtenderFilterResult.Nodes", "v1.NodeList")
    items = folded(value).get("items") or []
    if not isinstance(items, list):
        raise mismatch(items, "Go struct field NodeList.Nodes.items", "[]v1.Node")
    return [_node_name(item) for item in items]


def _node_name(item: Any) -> str:
    metadata = folded(item).get("metadata") if isinstance(item, dict) else None
    name = folded(metadata).get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _read_reasons(raw: bytes | None, field: str, problems: list[str]) -> dict[str, str]:
    value = value_of(raw)
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(f"{field} is not a map from nodes to reasons")
        return {}
    for node, reason in value.items():
        if not isinstance(reason, str):
            _name(problems, f"a reason in {field} is not a string: {json.dumps(reason)[:80]}")
            value[node] = "" if reason is None else json.dumps(reason)[:200]
    return value


def _score(entry: Any, problems: list[str]) -> tuple[str, float] | None:
    members = folded(entry) if isinstance(entry, dict) else {}
    host, score = members.get("host"), members.get("score", 0)
    if not isinstance(host, str):
        _name(problems, f"no host in {json.dumps(entry)[:80]}")
        return None
    if isinstance(score, str):
        try:
            score = float(score)
        except ValueError:
            score = None
    if type(score) not in (int, float) or score != score:
        _name(problems, f"the score in {json.dumps(entry)[:80]} is not a number")
        return None
    if type(score) is float:
        _name(problems, f"the score in {json.dumps(entry)[:80]} is not an integer, so kube-scheduler drops the list")
    return host, score


def _folded(body: bytes, name: str) -> dict[str, msgspec.Raw]:
    """The members of an object that are not null, whatever the case of their keys; null is one without any."""
    try:
        members = _members.decode(body)
    except UNUSUAL:
        first = first_value(body)
        try:
            members = _members.decode(first)
        except msgspec.ValidationError:
            raise mismatch(value_of(first), "Go value", f"v1.{name}") from None
    # Where a key stands there twice, Go takes the later one.
    found = {key.lower(): value for key, value in (members or {}).items()}
    return {key: value for key, value in found.items() if value != _NULL}


def _name(problems: list[str], problem: str) -> None:
    if len(problems) < MAX_LISTED_PROBLEMS:
        problems.append(problem)
