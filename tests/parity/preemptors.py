"""Pods that wait for their victims to end.

Victims stay after their eviction, since there is no kubelet that ends them. The next pod meets a node with a nominated
pod. They are deleted only after that, and then the preemptor is placed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.builders import Json
from tests.parity.agreement import Verdict
from tests.parity.outcome import Outcome, Told, condition_of, is_leaving
from tests.parity.pod_watch import key
from tests.parity.side import Side

if TYPE_CHECKING:
    from tests.parity.comparison import Comparison

EVICTION_PATIENCE = 20.0
POLL_SECONDS = 0.02
RETRY_PATIENCE = 8.0
"""Seconds until a preemptor has to be placed after its victims ended. Not all are: some are not tried again at once."""


@dataclass
class _Preemptor:
    theirs: Json
    ours: Json
    node: str
    """That it is nominated to on their side."""
    same: bool
    """Whether it is on our side, too."""
    victims: set[str]
    case: Json


class Preemptors:
    """Those of a workload that are not placed yet."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._pods: dict[str, _Preemptor] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, name: str) -> bool:
        return name in self._pods

    def add(self, theirs: Json, ours: Json, outcomes: tuple[Outcome, Outcome], verdict: Verdict) -> None:
        """Check whom a pod preempts. Where we would have it preempt others, which is as good, it is placed at once."""
        comparison = self._comparison
        nominated, mine = (outcome.nominated for outcome in outcomes)
        problems = [
            *_wrongly_evicted(comparison.theirs, nominated, verdict),
            *_wrongly_evicted(comparison.ours, mine, verdict),
        ]
        victims = verdict.victims(nominated)
        if nominated == mine:
            problems += self._misinformed(victims)
        if problems:
            comparison.totals.disagree(f"victims of {key(theirs)}", problems, verdict.case, again=True)
        comparison.totals.counts["victims"] += len(victims)
        comparison.totals.counts[
            "nominated_to_the_same_node" if nominated == mine else "nominated_to_another_node"
        ] += 1
        self._pods[key(theirs)] = _Preemptor(theirs, ours, nominated, nominated == mine, victims, verdict.case)
        if nominated != mine or problems:
            self.finish()

    def _misinformed(self, victims: set[str]) -> list[str]:
        """Victims whose DisruptionTarget conditions differ between sides in the end. Victims that terminate already get
        theirs at any time after the nomination, under the rules of releases that evict them once more."""
        deadline = time.monotonic() + EVICTION_PATIENCE
        while (found := self._different_conditions(victims)) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return found

    def _different_conditions(self, victims: set[str]) -> list[str]:
        theirs, ours = self._comparison.theirs.watch.pods(), self._comparison.ours.watch.pods()
        told = ((name, theirs.get(name), ours.get(name)) for name in sorted(victims))
        pairs = [(name, *(pod and _told_of_disruption(pod) for pod in pods)) for name, *pods in told]
        return [f"{name}: told {a} by kube-scheduler, {b} by ours" for name, a, b in pairs if a != b]

    def finish(self) -> None:
        """Let all victims end, and see their preemptors placed."""
        victims = {name for preemptor in self._pods.values() for name in preemptor.victims}
        if victims:
            self._comparison.both(lambda side: _end(side, victims))
        while self._pods:
            self._place(next(iter(self._pods)))

    def _place(self, name: str) -> None:
        comparison, preemptor = self._comparison, self._pods[name]
        theirs = comparison.theirs.wait_placed(preemptor.theirs, RETRY_PATIENCE)
        ours = comparison.ours.wait_placed(preemptor.ours, RETRY_PATIENCE if theirs else 0.0)
        if theirs == ours:
            comparison.totals.counts["preemptors_placed" if theirs else "preemptors_left_waiting"] += 1
        elif self._evicted_again(preemptor):
            comparison.totals.counts["preemptors_that_evicted_again"] += 1
        elif preemptor.same and not (
            theirs and ours and {theirs, ours} <= set(comparison.reconsider(preemptor.ours).best)
        ):
            problems = [f"in the end on {theirs!r} by kube-scheduler, on {ours!r} by ours, not on {preemptor.node}"]
            comparison.totals.disagree(f"{name} after preempting", problems, preemptor.case, again=True)
        del self._pods[name]
        if theirs:
            comparison.run(name)
        else:
            comparison.forget(preemptor.theirs, preemptor.ours)

    def _evicted_again(self, preemptor: _Preemptor) -> bool:
        """Whether a scheduler that saw one victim gone and another not yet took further ones, on either side. Which,
        and whether, is a matter of milliseconds; from then on the sides differ."""
        before = {key(pod) for pod in preemptor.case["pods"] if is_leaving(pod)}
        return any(side.leaving() - before for side in (self._comparison.theirs, self._comparison.ours))


def _wrongly_evicted(side: Side, nominated: str, verdict: Verdict) -> Iterator[str]:
    """Whether exactly the victims on the node were evicted."""
    before = {key(pod) for pod in verdict.case["pods"] if is_leaving(pod)}
    expected = verdict.victims(nominated)
    side.watch.wait(lambda: expected <= side.leaving(), EVICTION_PATIENCE)
    evicted = side.leaving() - before
    if evicted != expected - before:
        yield f"{side.name} evicts {sorted(evicted)}; by our core it is {sorted(expected - before)}"


def _told_of_disruption(pod: Json) -> Told:
    """A pod that was created anew on our side has another generation."""
    return {**(condition_of(pod, "DisruptionTarget") or {}), "observedGeneration": None}


def _end(side: Side, victims: set[str]) -> None:
    for name, pod in side.watch.pods().items():
        if name in victims and is_leaving(pod):
            side.delete(pod)
