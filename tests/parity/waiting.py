"""Pods that stay pending while others come.

What happens to the cluster may make room for them, and then they are tried again: by both schedulers or by neither.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.builders import Json
from tests.parity.outcome import PLACED, Outcome
from tests.parity.pod_watch import key
from tests.parity.workload import CONFIG

if TYPE_CHECKING:
    from tests.parity.comparison import Comparison

QUIET_SECONDS = 0.04
"""How long schedulers usually need to try pods again."""
WAKE_PATIENCE = 10.0


class Waiting:
    """Those of a workload that no node fits so far."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._pods: dict[str, tuple[Json, Json]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._pods

    def add(self, theirs: Json, ours: Json) -> None:
        self._pods[key(theirs)] = theirs, ours

    def look(self) -> None:
        """Check which of the pods were placed meanwhile, and that the others have the same conditions on both sides."""
        if self._pods:
            time.sleep(QUIET_SECONDS)
        woken = [name for name in self._pods if any(outcome.kind == PLACED for outcome in self._current_outcomes(name))]
        for name in woken:
            # After a placement the sides are made the same, which may drop the pods that wait.
            if name in self._pods:
                self._place(name, alone=len(woken) == 1)
        if woken:
            self.look()
        for name in list(self._pods):
            self._compare(name)

    def finish(self) -> None:
        """See how they end."""
        if self._pods:
            time.sleep(self._comparison.settle)
            self.look()
        self._comparison.totals.counts["pending_to_the_end"] += len(self._pods)
        self._pods.clear()

    def drop(self) -> None:
        """Have no pods waiting: something is about to happen on one side only, and might make room for them."""
        pods, self._pods = self._pods, {}
        for theirs, ours in pods.values():
            self._comparison.forget(theirs, ours)

    def _compare(self, name: str) -> None:
        """Both may be about to try a pod again, one a little later than the other."""
        deadline = time.monotonic() + WAKE_PATIENCE
        while name in self._pods:
            theirs, ours = self._current_outcomes(name)
            if theirs.kind == PLACED or ours.kind == PLACED or theirs.condition == ours.condition:
                return
            if time.monotonic() > deadline:
                problems = [f"later on told {theirs.condition} by kube-scheduler, {ours.condition} by ours"]
                self._disagree(name, problems, self._pods.pop(name)[1])
            time.sleep(QUIET_SECONDS)

    def _current_outcomes(self, name: str) -> tuple[Outcome, Outcome]:
        theirs, ours = self._pods[name]
        return self._comparison.theirs.current_outcome(theirs), self._comparison.ours.current_outcome(ours)

    def _place(self, name: str, *, alone: bool) -> None:
        comparison, (theirs, ours) = self._comparison, self._pods.pop(name)
        nodes = comparison.theirs.wait_placed(theirs, WAKE_PATIENCE), comparison.ours.wait_placed(ours, WAKE_PATIENCE)
        comparison.totals.counts["placed_later"] += 1
        if not all(nodes):
            self._disagree(name, [f"later on kube-scheduler places it on {nodes[0]!r}, ours on {nodes[1]!r}"], ours)
        elif alone and nodes[0] != nodes[1] and not set(nodes) <= set(comparison.reconsider(ours).best):
            self._disagree(name, [f"later on placed on {nodes}, not the best by our totals"], ours)
        if nodes[0]:
            comparison.run(name)
        else:
            comparison.forget(theirs, ours)

    def _disagree(self, name: str, problems: list[str], pod: Json) -> None:
        case = {"id": name, "config": CONFIG, "pod": pod, **self._comparison.ours.case()}
        self._comparison.totals.disagree(name, problems, case, again=True)
