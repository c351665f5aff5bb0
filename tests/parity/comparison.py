"""Runs a workload on both sides."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self, TypeVar

from tests.builders import Json
from tests.parity.agreement import Verdict, disagreements
from tests.parity.cluster_changes import change_cluster
from tests.parity.draw import Draw
from tests.parity.outcome import GATED, PENDING, PLACED, Outcome, is_leaving
from tests.parity.pod_watch import key
from tests.parity.pods import LOWEST, PATIENT
from tests.parity.preemptors import Preemptors
from tests.parity.side import Side
from tests.parity.totals import Totals
from tests.parity.waiting import Waiting
from tests.parity.workload import CONFIG, Workload

from stowplan.testing import RefusedError

T = TypeVar("T")

SETTLE_SECONDS = 0.5
"""How long a scheduler may take to see what is not a pod. Pods it sees in the order in which they changed."""
INTERLUDES = 0.2
"""How often something else happens after a pod came."""
_MOST_REDRAWN = 50
_INVALID = (400, 403, 422)


@dataclass(frozen=True)
class Decision:
    """About one pod, on both sides."""

    theirs: Json
    ours: Json
    outcomes: tuple[Outcome, Outcome]
    verdict: Verdict
    problems: list[str]

    @property
    def can_be_repeated(self) -> bool:
        """Who was evicted does not come back."""
        return not any(outcome.nominated for outcome in self.outcomes)


class Comparison:
    """Brings one pod after the other before both schedulers, and keeps both sides the same."""

    def __init__(self, theirs: Side, ours: Side, totals: Totals, *, settle: float = SETTLE_SECONDS) -> None:
        self.theirs = theirs
        self.ours = ours
        self.totals = totals
        self.settle = settle
        self.preemptors = Preemptors(self)
        self.waiting = Waiting(self)
        self._threads = ThreadPoolExecutor(2)
        self._manifests: dict[str, Json] = {}
        self._started: dict[str, str] = {}
        self._gated: list[tuple[Json, Json]] = []
        self._keep_pending = False

    def play(self, workload: Workload) -> None:
        """Play a whole workload."""
        draw = Draw(f"interludes of {workload.name}")
        self.both(lambda side: side.put_all([*workload.nodes, *workload.objects]))
        self.both(lambda side: side.leave_all(workload.leaving))
        time.sleep(self.settle)
        # Where pods preempt others, those that are tried again by and by would come in between.
        self._keep_pending = "priority" not in workload.features
        for number in range(workload.pods):
            gated, self._gated = self._gated, []
            self._next(workload, f"p-{workload.name}-{number:02}")
            for pair in gated:
                self._let_go(*pair)
            if draw.chance(INTERLUDES) and not self.preemptors:
                change_cluster(self, draw)
            self.waiting.look()
        while self._gated:
            self._let_go(*self._gated.pop())
        self.preemptors.finish()
        self.waiting.finish()
        self.totals.counts["workloads"] += 1
        self.clear()

    def clear(self) -> None:
        """Leave both sides empty, also in the middle of a workload."""
        self.waiting, self.preemptors = Waiting(self), Preemptors(self)
        self._gated, self._manifests, self._started = [], {}, {}
        self.both(Side.clear)

    def both(self, do: Callable[[Side], T]) -> tuple[T, T]:
        """On both sides at a time; theirs comes first."""
        theirs, ours = self._threads.map(do, (self.theirs, self.ours))
        return theirs, ours

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._threads.shutdown()

    # One pod
    def _next(self, workload: Workload, name: str) -> None:
        """The next pod that the API servers accept."""
        for _ in range(_MOST_REDRAWN):
            try:
                return self._bring(workload.pod(name))
            except RefusedError as problem:
                if problem.status not in _INVALID:
                    raise
                self.totals.counts["redrawn"] += 1
        raise AssertionError(f"{workload.name}: the API server refuses every pod")

    def _bring(self, manifest: Json) -> None:
        self._manifests[key(manifest)] = manifest
        self._let_preempt(manifest)
        self.step(lambda side: side.create(manifest))

    def _let_preempt(self, manifest: Json) -> None:
        """Two preemptors at a time would interfere in an unpredictable order."""
        if manifest["spec"].get("priorityClassName") not in (LOWEST, PATIENT):
            self.preemptors.finish()

    def step(self, submit: Callable[[Side], Json]) -> None:
        """Let both decide about a pod, which `submit` hands in and returns."""
        decision = self._decide(submit)
        self.totals.counts["pods"] += 1
        where = key(decision.theirs)
        if decision.problems and decision.can_be_repeated:
            self.totals.disagree(f"{where} at first", decision.problems, decision.verdict.case, again=False)
            decision = self._decide_again(decision)
        if decision.problems:
            self.totals.disagree(where, decision.problems, decision.verdict.case, again=True)
        else:
            self.totals.counts["agreed"] += 1
        self._settle(decision)

    def _decide(self, submit: Callable[[Side], Json]) -> Decision:
        cluster = self.ours.case()
        theirs, ours = self.both(submit)
        verdict = Verdict({"id": key(ours), "config": CONFIG, "pod": ours, **cluster})
        outcomes = self.theirs.outcome(theirs), self.ours.outcome(ours)
        return Decision(theirs, ours, outcomes, verdict, list(disagreements(*outcomes, verdict)))

    def _decide_again(self, decision: Decision) -> Decision:
        """About the same pod anew, after everybody had time to see the cluster as it is."""
        self.forget(decision.theirs, decision.ours)
        time.sleep(self.settle * 2)
        self.waiting.look()
        manifest = self._manifests[key(decision.theirs)]
        return self._decide(lambda side: side.create(manifest))

    def _settle(self, decision: Decision) -> None:
        """Make the outcome on their side true on both."""
        outcome, mine = decision.outcomes
        verdict, counts = decision.verdict, self.totals.counts
        counts[outcome.kind] += 1
        if outcome.kind == GATED:
            self._gated.append((decision.theirs, decision.ours))
            return
        if outcome.kind == PENDING:
            self.totals.note_message(outcome.message)
        if outcome.nominated:
            self.preemptors.add(decision.theirs, decision.ours, decision.outcomes, verdict)
            return
        if outcome.kind == PLACED:
            counts["same_node" if outcome.node == mine.node else "another_best_node"] += 1
            counts["one_best_node_of_several"] += len(verdict.best) == 1 < len(verdict.feasible)
            self.run(key(decision.theirs))
        elif self._keep_pending and not decision.problems:
            self.waiting.add(decision.theirs, decision.ours)
        else:
            self.forget(decision.theirs, decision.ours)
        self.preemptors.finish()

    def reconsider(self, pod: Json) -> Verdict:
        """The evaluation of a pod on the current cluster, as if it were pending."""
        cluster = self.ours.case()
        cluster["pods"] = [other for other in cluster["pods"] if key(other) != key(pod)]
        return Verdict({"id": key(pod), "config": CONFIG, "pod": pod, **cluster})

    def forget(self, theirs: Json, ours: Json) -> None:
        """Delete a pod."""
        self.both(lambda side: side.delete(theirs if side is self.theirs else ours))
        self.align()

    def _let_go(self, theirs: Json, ours: Json) -> None:
        """Lift the gates of a pod; until now, nothing may have happened to it."""
        name = key(theirs)
        for side, pod in ((self.theirs, theirs), (self.ours, ours)):
            found = side.current_outcome(pod)
            if found.kind != GATED or found.event is not None:
                problems = [f"{side.name}: a pod with scheduling gates is {found}"]
                self.totals.disagree(name, problems, {"id": name, "pod": pod, **side.case()}, again=True)
        self._manifests[name]["spec"].pop("schedulingGates")
        self._let_preempt(self._manifests[name])
        patch = {"spec": {"schedulingGates": None}}
        self.step(lambda side: side.change_pod(side.watch.pods()[name], patch))

    def relabel(self, name: str, labels: dict[str, str]) -> None:
        """Give a pod other labels."""
        manifest = self._manifests[name]
        gone = dict.fromkeys(manifest["metadata"]["labels"].keys() - labels.keys())
        patch = {"metadata": {"labels": {**gone, **labels}}}
        manifest["metadata"]["labels"] = labels
        self.both(lambda side: side.change_pod(side.watch.pods()[name], patch))

    # Keeping both sides the same
    def run(self, name: str) -> None:
        """Let a pod that was placed on their side run on both."""
        self.align()
        number = len(self._started)
        at = self._started[name] = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
        self.both(lambda side: side.start(side.watch.pods()[name], at))

    def align(self) -> None:
        """Make the pods that have a node on our side those of their side."""
        theirs, ours = self.theirs.watch.pods(), self.ours.watch.pods()
        for name in sorted({*theirs, *ours}):
            wanted, found = theirs.get(name), ours.get(name)
            if name in self.waiting or name in self.preemptors or _same(wanted, found):
                continue
            self.waiting.drop()
            if found and not (wanted and found["spec"].get("nodeName") == wanted["spec"].get("nodeName")):
                self.ours.delete(found)
                found = None
            if wanted and wanted["spec"].get("nodeName"):
                self._make_same(name, wanted, found)

    def _make_same(self, name: str, wanted: Json, found: Json | None) -> None:
        if found and is_leaving(found):
            self.ours.delete(found)
            found = None
        if found is None:
            manifest = copy.deepcopy(self._manifests[name])
            manifest["spec"]["nodeName"] = wanted["spec"]["nodeName"]
            found = self.ours.create(manifest)
        if name in self._started:
            self.ours.start(found, self._started[name])
        if is_leaving(wanted):
            self.ours.delete(found, gracefully=True)


def _same(wanted: Json | None, found: Json | None) -> bool:
    """Whether there is a pod that has a node on neither side, or the same one on both."""

    def place(pod: Json | None) -> tuple[str, bool]:
        node = pod["spec"].get("nodeName", "") if pod else ""
        return node, bool(node and pod and is_leaving(pod))

    return place(wanted) == place(found)
