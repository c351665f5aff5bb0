"""The limit of the scheduling loop's time that one namespace may use for expensive pods.

An expensive attempt is charged to the pod's namespace. A namespace has a token bucket that holds `BURST_SECONDS` and
refills with `share` seconds per second. While the bucket is empty, pods of the namespace that are next in turn are held
here, unless no other namespace uses the scheduler. Time that no other namespace needed is charged up to
`MAX_UNOPPOSED_WAIT_SECONDS`, so that the pods of a namespace that becomes active again go first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from math import inf

from stowplan.framework import QueuedPodInfo
from stowplan.queue.heap import PodHeap, SortKey

EXPENSIVE_ATTEMPT_SECONDS = 0.02
"""Attempts that take at least this long are charged; an ordinary attempt takes less than a millisecond."""

BURST_SECONDS = 0.2
"""Expensive attempts for which a namespace never waits, so that a single slow attempt has no consequence. Short, since
1,000 ordinary pods take about a second."""

MAX_UNOPPOSED_WAIT_SECONDS = 10.0
"""How long a namespace waits at most for attempts that were made while no other namespace was active."""

OTHERS_ACTIVE_SECONDS = 10.0
"""How long other namespaces count as active after an ordinary attempt."""

_MAX_RELEASED_PODS = 100
"""Pods of a namespace released at once. If the first one empties the bucket again, the others come back."""


class NamespaceThrottle:
    """Buckets of namespaces, and the pods held back. A share of 0 or 1 sets no limit."""

    def __init__(self, share: float, key: SortKey, tickets: Iterator[int]) -> None:
        self._share = share if 0.0 < share < 1.0 else 0.0
        self._key = key
        self._tickets = tickets
        self.full_at: dict[str, float] = {}
        """By namespace, when its bucket is full again. While empty, no pod is held and `admits` need not be called."""
        self._held: dict[str, PodHeap] = {}
        """By namespace, in the order of the active queue."""
        self._admitted_at: dict[str, float] = {}
        """By namespace, when one of its pods was last admitted without debt after the attempt; the latest last."""
        self._unopposed: QueuedPodInfo | None = None
        """The pod popped last, if it was popped unopposed."""

    def __len__(self) -> int:
        return sum(map(len, self._held.values()))

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return chain.from_iterable(self._held.values())

    def charge(self, namespace: str, seconds: float, now: float) -> float:
        """Charge the namespace of the pod popped last; returns the seconds for which the namespace has to wait."""
        if not self._share:
            return 0.0
        before = self.full_at.get(namespace, now)
        full_at = max(before, now) + seconds / self._share
        if self._unopposed is not None:
            # No other namespace needed the time. Without a bound, the debt of a namespace that is alone would grow for
            # as long as it is alone.
            full_at = max(before, min(full_at, now + MAX_UNOPPOSED_WAIT_SECONDS + BURST_SECONDS / self._share))
        self.full_at[namespace] = full_at
        waits = max(self._debt_ends(namespace) - now, 0.0)
        if waits:
            self._admitted_at.pop(namespace, None)
        return waits

    def admits(self, info: QueuedPodInfo, now: float) -> bool:
        """Whether the popped pod may be tried now; otherwise it is held."""
        if info is self._unopposed:
            return True
        self._unopposed = None
        namespace = info.pod.namespace
        if self._debt_ends(namespace) > now:
            self._held.setdefault(namespace, PodHeap(self._key, self._tickets)).push(info)
            return False
        self._admitted_at.pop(namespace, None)
        self._admitted_at[namespace] = now
        return True

    def pop_unopposed(self, clock: Callable[[], float]) -> QueuedPodInfo | None:
        """The next held pod, if no namespace without debt is active: then waiting would help no pod."""
        self._unopposed = None
        if not self._held or self._opposed_until(now := clock()) > now:
            return None
        heads = [info for heap in self._held.values() if (info := heap.peek()) is not None]
        if heads:
            self._unopposed = self._held[min(heads, key=self._key).pod.namespace].pop()
        return self._unopposed

    def take_released(self, now: float) -> list[QueuedPodInfo]:
        """Remove and return pods of namespaces that need not wait any more."""
        released: list[QueuedPodInfo] = []
        for namespace, heap in list(self._held.items()):
            if self._debt_ends(namespace) <= now:
                pods = (heap.pop() for _ in range(min(len(heap), _MAX_RELEASED_PODS)))
                released += [info for info in pods if info is not None]
            if not heap:
                del self._held[namespace]
        for namespace in [name for name, full_at in self.full_at.items() if full_at <= now and name not in self._held]:
            del self.full_at[namespace]
        if not self.full_at:
            self._admitted_at.clear()
            self._unopposed = None
        return released

    def next_release(self, now: float) -> float:
        """When held pods may be tried next; infinite without any."""
        waiting = [self._debt_ends(namespace) for namespace, heap in self._held.items() if heap]
        if not waiting:
            return inf
        opposed_until = self._opposed_until(now)
        return min(waiting) if opposed_until <= now else min(opposed_until, *waiting)

    def _opposed_until(self, now: float) -> float:
        """When the last active namespace without debt stops counting as active."""
        for namespace, admitted_at in reversed(self._admitted_at.items()):
            if self._debt_ends(namespace) <= now:
                return admitted_at + OTHERS_ACTIVE_SECONDS
        return -inf

    def _debt_ends(self, namespace: str) -> float:
        return self.full_at.get(namespace, -inf) - BURST_SECONDS / self._share
