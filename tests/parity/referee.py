"""Plays a workload on both sides."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.builders import Json
from tests.parity.board import key
from tests.parity.draw import Draw
from tests.parity.interludes import interlude
from tests.parity.judging import Verdict, disagreements
from tests.parity.outcome import GATED, PENDING, PLACED, Outcome, is_leaving
from tests.parity.preemptors import Preemptors
from tests.parity.side import Side
from tests.parity.tally import Tally
from tests.parity.workload import CONFIG, Workload

from stowplan.testing import Refused

T = TypeVar("T")

SETTLE_SECONDS = 0.5
"""How long a scheduler may take to see what is not a pod. Pods it sees in the order in which they changed."""
_MOST_REDRAWN = 50
_INVALID = (400, 403, 422)


class Referee:
    """Brings one pod after the other before both schedulers, and keeps both sides the same."""

    def __init__(self, theirs: Side, ours: Side, tally: Tally, *, settle: float = SETTLE_SECONDS) -> None:
        self.theirs = theirs
        self.ours = ours
        self.tally = tally
        self.settle = settle
        self.preemptors = Preemptors(self)
        self._threads = ThreadPoolExecutor(2)
        self._manifests: dict[str, Json] = {}
        self._started: dict[str, str] = {}
        self._held: list[tuple[Json, Json]] = []

    def play(self, workload: Workload, pods: int) -> None:
        """Play a whole workload, and leave both sides empty."""
        draw = Draw(f"interludes of {workload.name}")
        self.both(lambda side: side.put_all([*workload.nodes, *workload.objects]))
        self.both(lambda side: [side.leave(obj) for obj in workload.leaving])
        time.sleep(self.settle)
        for number in range(pods):
            created = self._create(workload, f"p-{workload.name}-{number:02}")
            self._let_go(keep=1)
            self.step(*created)
            if draw.chance(0.08) and not self.preemptors.waiting:
                interlude(self, draw)
        self.preemptors.finish()
        self._let_go(keep=0)
        self.preemptors.finish()
        self.both(Side.clear)
        self._manifests.clear()
        self._started.clear()
        self.tally.counts["workloads"] += 1

    def both(self, do: Callable[[Side], T]) -> tuple[T, T]:
        """On both sides at a time; theirs comes first."""
        theirs, ours = self._threads.map(do, (self.theirs, self.ours))
        return theirs, ours

    def close(self) -> None:
        self._threads.shutdown()

    # One pod
    def _create(self, workload: Workload, name: str) -> tuple[Json, Json]:
        """Create the next pod that the API servers accept."""
        for _ in range(_MOST_REDRAWN):
            manifest = workload.pod(name)
            try:
                return self._create_both(manifest)
            except Refused as problem:
                if problem.status not in _INVALID:
                    raise
                self.tally.counts["redrawn"] += 1
        raise AssertionError(f"{workload.name}: the API server refuses every pod")

    def _create_both(self, manifest: Json) -> tuple[Json, Json]:
        created = self.both(lambda side: side.create(manifest))
        self._manifests[key(created[0])] = manifest
        return created

    def step(self, theirs: Json, ours: Json) -> None:
        """Let both decide about a pod that was created just now."""
        self.tally.counts["pods"] += 1
        where = key(theirs)
        problems, outcomes, verdict = self._decide(theirs, ours)
        if problems and outcomes[0].kind in (PLACED, PENDING) and not any(outcome.nominated for outcome in outcomes):
            self.tally.disagree(f"{where} at first", problems, verdict.case, again=False)
            theirs, ours = self._create_again(theirs, ours)
            problems, outcomes, verdict = self._decide(theirs, ours)
        if problems:
            self.tally.disagree(where, problems, verdict.case, again=True)
        else:
            self.tally.counts["agreed"] += 1
        self._settle(theirs, ours, outcomes, verdict)

    def _decide(self, theirs: Json, ours: Json) -> tuple[list[str], tuple[Outcome, Outcome], Verdict]:
        verdict = Verdict(self.ours.case(ours, key(ours), CONFIG))
        outcomes = self.theirs.outcome(theirs), self.ours.outcome(ours)
        return list(disagreements(*outcomes, verdict)), outcomes, verdict

    def _create_again(self, theirs: Json, ours: Json) -> tuple[Json, Json]:
        """The same pod anew, after everybody had time to see the cluster as it is."""
        self.theirs.delete(theirs)
        self.ours.delete(ours)
        self.align()
        time.sleep(self.settle * 2)
        return self._create_both(self._manifests[key(theirs)])

    def _settle(self, theirs: Json, ours: Json, outcomes: tuple[Outcome, Outcome], verdict: Verdict) -> None:
        """Make the outcome on their side true on both."""
        outcome, mine = outcomes
        self.tally.counts[outcome.kind] += 1
        if outcome.kind == GATED:
            self._held.append((theirs, ours))
            return
        if outcome.kind == PENDING:
            self.tally.note_message(outcome.message)
            if outcome.nominated:
                self.preemptors.add(theirs, ours, outcomes, verdict)
                return
        if outcome.kind == PLACED:
            self.tally.counts["same node" if outcome.node == mine.node else "another best node"] += 1
            self.tally.counts["one best node"] += len(verdict.best) == 1 < len(verdict.feasible)
            self.start(theirs)
        else:
            self.both(lambda side: side.delete(theirs if side is self.theirs else ours))
        self.align()
        self.preemptors.finish()

    def _let_go(self, keep: int) -> None:
        """Lift the gates of pods that are held, all but the newest."""
        while len(self._held) > keep:
            theirs, ours = self._held.pop(0)
            for side, pod in ((self.theirs, theirs), (self.ours, ours)):
                found = side.glance(pod)
                if found.kind != GATED or found.event is not None:
                    problems = [f"{side.name}: a pod with scheduling gates is {found}"]
                    self.tally.disagree(key(pod), problems, side.case(pod, key(pod), CONFIG), again=True)
            self._manifests[key(theirs)]["spec"].pop("schedulingGates")
            patch = {"spec": {"schedulingGates": None}}
            self.step(*self.both(lambda side: side.change_pod(theirs if side is self.theirs else ours, patch)))

    # Keeping both sides the same
    def start(self, pod: Json) -> None:
        """Let a pod that was placed on their side run."""
        number = len(self._started)
        at = self._started[key(pod)] = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
        self.theirs.start(pod, at)

    def align(self) -> None:
        """Make the pods that have a node on our side those of their side."""
        theirs, ours = self.theirs.board.pods(), self.ours.board.pods()
        for name in sorted({*theirs, *ours}):
            wanted, found = theirs.get(name), ours.get(name)
            if not any(pod and pod["spec"].get("nodeName") for pod in (wanted, found)) or _same(wanted, found):
                continue
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
    def told(pod: Json | None) -> object:
        return pod and (pod["spec"].get("nodeName"), is_leaving(pod), pod["status"].get("startTime"))

    return told(wanted) == told(found)
