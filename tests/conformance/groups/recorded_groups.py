"""Verdicts on pod groups recorded from kube-scheduler, and how one of ours may differ from them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from tests.builders import Json

_FOLDER = Path(__file__).parent
CATEGORIES = tuple(sorted(path.name.removesuffix(".jsonl.gz") for path in _FOLDER.glob("*.jsonl.gz")))

_named_in_random_order = re.compile(r"(more than 1 domain found for pod group: ).*")


class RecordedGroup(msgspec.Struct):
    """A question and what kube-scheduler answered."""

    id: str
    case: msgspec.Raw
    expect: Json
    traps: tuple[str, ...] = ()
    """Known mistakes of v1.36 without which the answer would be another one."""


@lru_cache(maxsize=1)
def recorded_groups(category: str) -> tuple[RecordedGroup, ...]:
    decode = msgspec.json.Decoder(RecordedGroup).decode
    with gzip.open(_FOLDER / f"{category}.jsonl.gz") as lines:
        return tuple(map(decode, lines))


def differences(expected: Json, actual: Json, *, end_only: bool = False) -> list[str]:
    """Each fact that is not as recorded, a line each. `end_only`: how the cycle ends, without the tries."""
    if "error" in actual:
        return [f"error instead of a verdict: {actual['error']}"]
    theirs, ours = dict(_end(expected)), dict(_end(actual))
    if not end_only:
        theirs |= dict(_way(expected))
        ours |= dict(_way(actual))
    return [
        f"{fact}: recorded {theirs.get(fact)!r}, got {ours.get(fact)!r}"
        for fact in sorted({*theirs, *ours})
        if theirs.get(fact) != ours.get(fact)
    ]


def _end(verdict: Json) -> Iterator[tuple[str, object]]:
    yield "result", (verdict["result"], verdict["schedulable"])
    if verdict.get("condition"):
        yield "condition", _filled(verdict["condition"], ("status", "reason", "message"))
    for pod, rejection in (verdict.get("preEnqueue") or {}).items():
        yield f"preEnqueue of {pod}", _rejection(rejection)
    for pod, outcome in verdict["outcome"].items():
        fields = ("node", "waiting", "dropped", "code", "message", "nominated")
        yield f"outcome of {pod}", (_filled(outcome, fields), sorted(outcome.get("plugins") or ()))
    victims = verdict.get("victims") or ()
    yield "victims", [(each["preemptor"], each["node"], sorted(each["pods"])) for each in victims]


def _way(verdict: Json) -> Iterator[tuple[str, object]]:
    for position, placement in enumerate(verdict.get("placements") or ()):
        scores = {plugin: score for plugin, score in (placement.get("scores") or {}).items() if score}
        known = _filled(placement, ("name", "fits", "chosen", "total"))
        yield f"placement {position}", (known, scores, sorted(placement["nodes"]))
    yield "placementsError", _rejection(verdict.get("placementsError"))
    for position, attempt in enumerate(verdict["tries"]):
        fields = ("placement", "pod", "node", "message", "postFilter", "nominated")
        yield f"try {position}", (_filled(attempt, fields), (attempt.get("permit") or {}).get("code"))
        yield f"totals of try {position}", attempt.get("total") or {}
        rejected = {name: _rejection(each) for name, each in (attempt.get("filter") or {}).items()}
        yield f"rejections of try {position}", (rejected, _rejection(attempt.get("preFilter")))


def _filled(record: Json, fields: tuple[str, ...]) -> dict[str, Any]:
    """The fields that are not empty."""
    return {field: _stable(record[field]) for field in fields if record.get(field)}


def _stable(value: Any) -> Any:
    return _named_in_random_order.sub(r"\1*", value) if isinstance(value, str) else value


def _rejection(rejection: Json | None) -> object:
    if not rejection:
        return None
    return rejection["code"], rejection.get("plugin", ""), sorted(map(_stable, rejection.get("reasons") or ()))
