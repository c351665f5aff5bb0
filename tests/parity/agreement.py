"""Whether two outcomes agree with each other and with the evaluation of the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from tests.builders import Json
from tests.parity.outcome import PENDING, PLACED, Outcome

from stowplan.evaluation import Evaluator
from stowplan.testing.binaries import release

_encode = msgspec.json.Encoder().encode


class Verdict:
    """The evaluation of a case, with all nodes filtered and all scores."""

    def __init__(self, case: Json) -> None:
        self.case = {"release": release(), **case}
        self._told: dict[str, Any] = Evaluator().line(_encode(self.case))

    @property
    def error(self) -> str:
        return str(self._told.get("error", ""))

    @property
    def best(self) -> list[str]:
        """The nodes with the highest total."""
        totals: dict[str, int] = self._told.get("total", {})
        return sorted(node for node, total in totals.items() if total == max(totals.values()))

    @property
    def feasible(self) -> list[str]:
        return list(self._told.get("feasible", ()))

    @property
    def message(self) -> str:
        """Why no node fits, without the part about preemption."""
        return str(self._told.get("message", "")).partition(" | ")[0]

    @property
    def selected(self) -> list[str]:
        """The nodes that preemption may choose among."""
        return list(self._told.get("preemptionSelected", ()))

    def victims(self, node: str) -> set[str]:
        candidates = self._told.get("preemptionCandidates", ())
        return {name for candidate in candidates if candidate["node"] == node for name in candidate["victims"]}


def disagreements(theirs: Outcome, ours: Outcome, verdict: Verdict) -> Iterator[str]:
    """What is not as it should be, a line each."""
    if verdict.error:
        yield f"our core cannot evaluate this: {verdict.error}"
    elif theirs.kind != ours.kind:
        yield f"kube-scheduler: {theirs}; ours: {ours}; best by our totals: {verdict.best}"
    elif theirs.kind == PLACED:
        yield from _misplaced(theirs, ours, verdict)
    else:
        for part in ("condition", "event"):
            if getattr(theirs, part) != getattr(ours, part):
                yield f"{part}: kube-scheduler's {getattr(theirs, part)}, ours {getattr(ours, part)}"
        if theirs.kind == PENDING:
            yield from _misjudged(theirs, ours, verdict)


def _misplaced(theirs: Outcome, ours: Outcome, verdict: Verdict) -> Iterator[str]:
    for who, outcome in (("kube-scheduler's", theirs), ("our", ours)):
        if outcome.node not in verdict.best:
            yield f"{who} node {outcome.node} is not among the best by our totals, {verdict.best}"


def _misjudged(theirs: Outcome, ours: Outcome, verdict: Verdict) -> Iterator[str]:
    if not theirs.message.startswith(verdict.message):
        yield f"kube-scheduler says {theirs.message!r}, our core {verdict.message!r}"
    for who, outcome in (("kube-scheduler", theirs), ("our scheduler", ours)):
        if bool(outcome.nominated) != bool(verdict.selected) or outcome.nominated not in ("", *verdict.selected):
            yield f"{who} nominates {outcome.nominated!r}; by our core it is one of {verdict.selected}"
