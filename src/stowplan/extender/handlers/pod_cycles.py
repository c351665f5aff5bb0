"""What one pod's requests leave for the next: from filter over prioritize to bind."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from stowplan.extender.handlers.reply import CallFacts
from stowplan.framework import CycleState, Pod

KEPT = 1024
EXPIRES_AFTER = 600.0
ANSWERS_KEPT = 64


class PodCycle:
    """One attempt to schedule a pod, as far as an extender sees it."""

    __slots__ = ("begun_at", "pod", "prepared", "state")

    def __init__(self, pod: Pod, now: float) -> None:
        self.pod = pod
        self.state = CycleState()
        self.begun_at = now
        self.prepared = False
        """Whether PreFilter has run."""


class PodCycles:
    """By pod uid; at most so many, for at most so long. Pods without a uid are known by namespace and name."""

    def __init__(self, *, kept: int = KEPT, expires_after: float = EXPIRES_AFTER) -> None:
        self._kept = kept
        self._expires_after = expires_after
        self._cycles: OrderedDict[str, PodCycle] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, pod: Pod, now: float) -> PodCycle:
        """A new attempt: whatever an earlier one left is gone."""
        key = pod.uid or pod.key
        with self._lock:
            self._cycles.pop(key, None)
            cycle = self._cycles[key] = PodCycle(pod, now)
            while len(self._cycles) > self._kept:
                self._cycles.popitem(last=False)
            self._expire(now)
        return cycle

    def find(self, uid: str, key: str, now: float) -> PodCycle | None:
        with self._lock:
            self._expire(now)
            return self._cycles.get(uid or key)

    def end(self, uid: str, key: str) -> None:
        with self._lock:
            self._cycles.pop(uid or key, None)

    def __len__(self) -> int:
        return len(self._cycles)

    def _expire(self, now: float) -> None:
        while self._cycles:
            oldest = next(iter(self._cycles.values()))
            if now - oldest.begun_at < self._expires_after:
                return
            self._cycles.popitem(last=False)


class EarlierAnswers:
    """The last good answer of a verb for each of the pods that came last. One is about thousands of nodes, so they are
    few."""

    def __init__(self, kept: int = ANSWERS_KEPT) -> None:
        self._kept = kept
        self._answers: OrderedDict[str, Any] = OrderedDict()

    def put(self, facts: CallFacts, answer: Any) -> None:
        key = facts.pod_uid or facts.pod
        self._answers[key] = answer
        self._answers.move_to_end(key)
        if len(self._answers) > self._kept:
            self._answers.popitem(last=False)

    def get(self, facts: CallFacts) -> Any:
        """None where there is none."""
        return self._answers.get(facts.pod_uid or facts.pod)
