"""Per-pod state between the requests of one scheduling attempt: filter, prioritize, preempt, bind."""

from __future__ import annotations

import threading
from typing import Any

from stowplan.cache.lru_map import LruMap
from stowplan.extender.handlers.verb_call import CallFacts
from stowplan.framework import CycleState, Pod

MAX_CYCLES = 1024
CYCLE_EXPIRES_AFTER_SECONDS = 600.0
MAX_EARLIER_ANSWERS = 64
"""Few, since each holds the verdicts on thousands of nodes."""


class PodCycle:
    """One scheduling attempt of a pod, with its CycleState."""

    __slots__ = ("begun_at", "pod", "pre_filtered", "state")

    def __init__(self, pod: Pod, now: float) -> None:
        self.pod = pod
        self.state = CycleState()
        self.begun_at = now
        self.pre_filtered = False
        """Whether PreFilter has run."""


class PodCycles:
    """Cycles by pod uid, or by namespace/name for pods without a uid; bounded in number and age."""

    def __init__(self, *, max_cycles: int = MAX_CYCLES, expires_after: float = CYCLE_EXPIRES_AFTER_SECONDS) -> None:
        self._expires_after = expires_after
        self._cycles: LruMap[str, PodCycle] = LruMap(max_cycles)
        self._lock = threading.Lock()

    def begin(self, pod: Pod, now: float) -> PodCycle:
        """A new attempt; replaces the cycle of an earlier one."""
        key = pod.uid or pod.key
        with self._lock:
            cycle = PodCycle(pod, now)
            self._cycles.put(key, cycle)
            self._expire(now)
        return cycle

    def find(self, uid: str, key: str, now: float) -> PodCycle | None:
        with self._lock:
            self._expire(now)
            return self._cycles.peek(uid or key)

    def end(self, uid: str, key: str) -> None:
        with self._lock:
            self._cycles.pop(uid or key)

    def __len__(self) -> int:
        return len(self._cycles)

    def _expire(self, now: float) -> None:
        while (oldest := self._cycles.oldest()) is not None and now - oldest[1].begun_at >= self._expires_after:
            self._cycles.pop(oldest[0])


class EarlierAnswers:
    """The last good answer of a verb for each of the most recent pods."""

    def __init__(self, max_pods: int = MAX_EARLIER_ANSWERS) -> None:
        self._answers: LruMap[str, Any] = LruMap(max_pods)

    def put(self, facts: CallFacts, answer: Any) -> None:
        self._answers.put(facts.pod_uid or facts.pod, answer)

    def get(self, facts: CallFacts) -> Any:
        return self._answers.peek(facts.pod_uid or facts.pod)
