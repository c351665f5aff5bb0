"""Per-pod state between the requests of one scheduling attempt: filter, prioritize, preempt, bind."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.lru_map import LruMap
from stowplan.extender.handlers.verb_call import CallFacts
from stowplan.framework import CycleState, Pod

MAX_CYCLES = 1024
CYCLE_EXPIRES_AFTER_SECONDS = 600.0
MAX_PASSED_NODES = 2_000_000
MAX_EARLIER_ANSWERS = 64
"""Few, since each holds the verdicts on thousands of nodes."""

_NO_NODES = np.zeros(0, dtype=np.int64)


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


class _Passed(NamedTuple):
    """The nodes that one filter request let pass."""

    put_at: float
    hashes: NDArray[np.int64] = _NO_NODES
    unconfirmed: Pod | None = None


class PassedNodes:
    """The nodes that filter let pass, by pod: the only ones that bind accepts.

    Bounded in pods, in nodes altogether and in age. Names are kept as hashes of 8 bytes, for which a client cannot
    find collisions, since Python salts them.
    """

    def __init__(
        self,
        *,
        max_pods: int = MAX_CYCLES,
        max_nodes: int = MAX_PASSED_NODES,
        expires_after: float = CYCLE_EXPIRES_AFTER_SECONDS,
    ) -> None:
        self._max_pods = max_pods
        self._max_nodes = max_nodes
        self._expires_after = expires_after
        self._passed: OrderedDict[str, _Passed] = OrderedDict()
        self._nodes = 0
        self._lock = threading.Lock()

    def put(self, facts: CallFacts, names: Iterable[str], now: float, unconfirmed: Pod | None = None) -> None:
        """Replaces the nodes of the pod's earlier filter request. `unconfirmed` is the pod that the plugins judged, if
        it came from the request."""
        hashes = np.fromiter(map(hash, names), dtype=np.int64)
        with self._lock:
            self._drop(facts.pod_uid or facts.pod)
            self._passed[facts.pod_uid or facts.pod] = _Passed(now, hashes, unconfirmed)
            self._nodes += len(hashes)
            while len(self._passed) > self._max_pods or (self._nodes > self._max_nodes and len(self._passed) > 1):
                self._drop(next(iter(self._passed)))

    def contains(self, facts: CallFacts, name: str, now: float) -> bool:
        with self._lock:
            passed = self._passed.get(facts.pod_uid or facts.pod, _Passed(now))
            return now - passed.put_at < self._expires_after and bool((passed.hashes == hash(name)).any())

    def judged(self, facts: CallFacts, pod: Pod) -> bool:
        """Whether the plugins judged this pod of the cluster, not another one that was sent under its uid."""
        with self._lock:
            passed = self._passed.get(facts.pod_uid or facts.pod)
            return passed is None or passed.unconfirmed is None or _alike(passed.unconfirmed, pod)

    def _drop(self, key: str) -> None:
        dropped = self._passed.pop(key, None)
        self._nodes -= 0 if dropped is None else len(dropped.hashes)


def _alike(one: Pod, other: Pod) -> bool:
    """Whether name, labels, annotations and spec of the pods are equal."""
    if one.key != other.key or one.template is not other.template:
        return False
    return one.labels == other.labels and one.annotations == other.annotations


class EarlierAnswers:
    """The last good answer of a verb for each of the most recent pods."""

    def __init__(self, max_pods: int = MAX_EARLIER_ANSWERS) -> None:
        self._answers: LruMap[str, Any] = LruMap(max_pods)

    def put(self, facts: CallFacts, answer: Any) -> None:
        self._answers.put(facts.pod_uid or facts.pod, answer)

    def get(self, facts: CallFacts) -> Any:
        return self._answers.peek(facts.pod_uid or facts.pod)
