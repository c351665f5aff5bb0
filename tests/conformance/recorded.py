"""Verdicts recorded from kube-scheduler, and how one of ours may differ from them."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from tests.builders import Json

from stowplan.evaluation.case import Case, read_case

_FOLDER = Path(__file__).parent
CATEGORIES = tuple(sorted(path.name.removesuffix(".jsonl.gz") for path in _FOLDER.glob("*.jsonl.gz")))


class HasId(Protocol):
    """A recorded case."""

    @property
    def id(self) -> str: ...


Row = TypeVar("Row", bound=HasId)


class Recorded(msgspec.Struct):
    """A question and what kube-scheduler answered."""

    id: str
    case: msgspec.Raw
    expect: Json
    release: str = ""
    """The release of kube-scheduler that answered; empty for the latest."""

    @property
    def line(self) -> bytes:
        """The case with its release."""
        line = bytes(self.case)
        return b'{"release":"%s",%s' % (self.release.encode(), line[1:]) if self.release else line

    def read(self) -> Case:
        return read_case(self.line)


@lru_cache(maxsize=1)
def recorded(category: str, release: str = "") -> tuple[Recorded, ...]:
    decode = msgspec.json.Decoder(Recorded).decode
    folder = _FOLDER / "releases" / f"v{release}" if release else _FOLDER
    with gzip.open(folder / f"{category}.jsonl.gz") as lines:
        rows = tuple(map(decode, lines))
    for row in rows:
        row.release = release
    return rows


def categories_of(release: str) -> tuple[str, ...]:
    """The categories of an earlier release."""
    folder = _FOLDER / "releases" / f"v{release}"
    return tuple(sorted(path.name.removesuffix(".jsonl.gz") for path in folder.glob("*.jsonl.gz")))


def differences(expected: Json, actual: Json) -> list[str]:
    """Each fact that is not as recorded, a line each; none where the verdicts agree."""
    if "error" in actual:
        return [f"error instead of a verdict: {actual['error']}"]
    theirs, ours = dict(_facts(expected)), dict(_facts(actual))
    told = [
        f"{fact}: recorded {theirs.get(fact)!r}, got {ours.get(fact)!r}"
        for fact in sorted({*theirs, *ours})
        if theirs.get(fact) != ours.get(fact)
    ]
    # Of nodes that tie, which one is named is left to chance.
    allowed, chosen = set(expected.get("preemptionSelected") or ()), set(actual.get("preemptionSelected") or ())
    if (allowed and not chosen) or not chosen <= allowed:
        told.append(f"preemptionSelected: recorded {sorted(allowed)}, got {sorted(chosen)}")
    return told


def _facts(verdict: Json) -> Iterator[tuple[str, object]]:
    """A verdict as flat facts, each under a name of its own, free of orders that mean nothing."""
    for point in ("preEnqueue", "preFilter"):
        if verdict.get(point):
            yield point, _rejection(verdict[point], in_order=True)
    for names in ("feasible", "preFilterNodes"):
        if verdict.get(names):
            yield names, sorted(verdict[names])
    if verdict.get("message"):
        yield "message", verdict["message"]
    for node, rejection in (verdict.get("filter") or {}).items():
        yield f"filter of {node}", _rejection(rejection, in_order=False)
    for node, total in (verdict.get("total") or {}).items():
        yield f"total of {node}", total
    for node, scores in (verdict.get("scores") or {}).items():
        for plugin, score in scores.items():
            if score:  # a plugin without a score and one that scores 0 are the same
                yield f"score of {node} by {plugin}", score
    for candidate in verdict.get("preemptionCandidates") or ():
        yield f"victims on {candidate['node']}", (sorted(candidate["victims"]), candidate["pdbViolations"])


def _rejection(rejection: Mapping[str, Any], in_order: bool) -> tuple[str, str, list[str]]:
    reasons = list(rejection.get("reasons") or ())
    return rejection["code"], rejection.get("plugin", ""), reasons if in_order else sorted(reasons)


def check_rows(rows: Sequence[Row], compare: Callable[[Row], list[str]]) -> None:
    """Compare each row with its recorded verdict; fail with the differences."""
    failures = {row.id: found for row in rows if (found := compare(row))}
    gc.collect()
    assert not failures, report(failures, len(rows))


def report(failures: Mapping[str, list[str]], of: int) -> str:
    """The first failures in full, the others by number."""
    lines = [f"{len(failures)} of {of} cases differ"]
    for name, facts in list(failures.items())[:5]:
        lines += [f"  {name}:", *(f"    {fact:.300}" for fact in facts[:3])]
        if len(facts) > 3:
            lines.append(f"    ... and {len(facts) - 3} more")
    return "\n".join(lines)
