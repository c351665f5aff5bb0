"""Placements of recorded runs: reports of `simulate -o json`, decision logs and recordings of extenders, snapshots, and
pods as `kubectl get` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from stowplan.errors import InputError


class RecordedPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod of a recorded run; the names are those of a report."""

    pod: str
    workload: str = ""
    node: str = ""
    zone: str = ""
    score: int | None = None
    decision: msgspec.Raw = msgspec.Raw(b"null")


class RecordedNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node of a report."""

    node: str
    zone: str = ""
    requested: dict[str, int] = {}
    allocatable: dict[str, int] = {}


class RecordedRun(NamedTuple):
    """The pods of a run, and its nodes if they are recorded."""

    name: str
    pods: list[RecordedPod]
    nodes: list[RecordedNode]


class _Report(msgspec.Struct, rename="camel"):
    pods: list[RecordedPod]
    nodes: list[RecordedNode] = []


class _Scores(msgspec.Struct):
    """The part of a decision record that has scores."""

    node: str = ""
    totals: dict[str, int] = {}


class _LoggedDecision(msgspec.Struct):
    """A decision in a log."""

    pod: str = ""
    node: str = ""
    totals: dict[str, int] = {}


class _Line(msgspec.Struct):
    """A line of a decision log (`decision`) or of a recording (`verb`, `request`)."""

    decision: _LoggedDecision | None = None
    verb: str | None = None
    status: int = 200
    request: Any = None


def read_run(name: str, content: bytes) -> RecordedRun:
    """The run of a file. Raises InputError if the file is none of the known forms, or has no placements."""
    text = content.lstrip()
    if not text.startswith(b"{"):
        forms = "a report of 'simulate -o json', a decision log, a recording or a snapshot"
        raise InputError(f"{name}: {forms} is expected")
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return _of_lines(name, text)
    if isinstance(document, dict) and isinstance(document.get("pods"), list):
        try:
            report = msgspec.json.decode(text, type=_Report)
        except msgspec.ValidationError as problem:
            raise InputError(f"{name}: {problem}") from problem
        return RecordedRun(name, [_with_score(pod) for pod in report.pods], report.nodes)
    items = _items(document)
    if items is None:
        return _of_lines(name, text)
    pods = [_of_object(item) for item in items if item.get("kind", "Pod") == "Pod"]
    return RecordedRun(name, pods, [])


def _items(document: Any) -> list[Any] | None:
    """The objects of a snapshot or of a list."""
    if not isinstance(document, dict):
        return None
    objects = document.get("objects")
    if isinstance(objects, dict):
        found = objects.get("Pod", [])
        return found if isinstance(found, list) else None
    items = document.get("items")
    return items if isinstance(items, list) else None


def _of_object(item: Any) -> RecordedPod:
    metadata, spec = item.get("metadata") or {}, item.get("spec") or {}
    key = f"{metadata.get('namespace') or 'default'}/{metadata.get('name', '')}"
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
    workload = f"{owners[0]['kind']}/{owners[0]['name']}" if owners else ""
    return RecordedPod(pod=key, workload=workload, node=spec.get("nodeName") or "")


def _with_score(pod: RecordedPod) -> RecordedPod:
    """The pod with the score of its node, if its decision has it."""
    if pod.score is not None or bytes(pod.decision) == b"null":
        return pod
    scores = msgspec.json.decode(pod.decision, type=_Scores)
    return msgspec.structs.replace(pod, score=scores.totals.get(pod.node), decision=msgspec.Raw(b"null"))


def _of_lines(name: str, text: bytes) -> RecordedRun:
    """The last placement of each pod in a log or recording."""
    pods: dict[str, RecordedPod] = {}
    decoder = msgspec.json.Decoder(_Line)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                for pod in _placements(decoder.decode(line)):
                    pods[pod.pod] = pod
            except (msgspec.DecodeError, KeyError) as problem:
                raise InputError(f"{name}: line {number}: {problem}") from problem
    if not pods:
        raise InputError(f"{name}: it contains no placements")
    return RecordedRun(name, list(pods.values()), [])


def _placements(line: _Line) -> Iterator[RecordedPod]:
    if line.decision is not None:
        decision = line.decision
        best = max(decision.totals.values(), default=None)
        node = decision.node
        if not node and decision.totals and list(decision.totals.values()).count(best or 0) == 1:
            node = max(decision.totals, key=lambda name: decision.totals[name])
        yield RecordedPod(pod=decision.pod, node=node, score=decision.totals.get(node))
    elif line.verb == "bind" and isinstance(line.request, dict) and line.status == 200:
        fields = {key.lower(): value for key, value in line.request.items()}
        yield RecordedPod(pod=f"{fields['podnamespace']}/{fields['podname']}", node=fields["node"])
