"""The limit of the scheduling loop's time that one namespace may use for expensive pods.

A costly attempt is charged to the pod's namespace. A namespace has a token bucket that holds `BURST_SECONDS` and
refills with `share` seconds per second. While the bucket is empty, pods of the namespace that are next in turn are held
here, unless no other namespace uses the scheduler. Time that no other namespace needed is charged up to
`MAX_UNOPPOSED_WAIT_SECONDS`, so that the pods of a namespace that becomes active again go first.

Namespaces whose buckets are not full refill together with at most `COMMON_SHARE` seconds per second, so that many
namespaces of one tenant get no more. The common rate changes when a bucket becomes full or is charged. Buckets are
therefore kept in *refill time*, the seconds that each of them has received since the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from math import inf

from stowplan.framework import QueuedPodInfo
from stowplan.queue.heap import PodHeap, SortKey

CHARGED_ATTEMPT_SECONDS = 0.005
"""Attempts that take at least this long are charged; an ordinary attempt takes less than a millisecond."""

EXPENSIVE_ATTEMPT_SECONDS = 0.02
"""Attempts that take at least this long are also reported."""

COMMON_SHARE = 0.4
"""The share of the loop's time for costly attempts of all namespaces together, unless one namespace may use more."""

_ROUNDING_SECONDS = 1e-9
"""Less is no debt: sums of many intervals are not exact."""

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
    """Buckets of namespaces, and the pods held. A share of 0 or 1 sets no limit."""

    def __init__(self, share: float, key: SortKey, tickets: Iterator[int]) -> None:
        self._share = share if 0.0 < share < 1.0 else 0.0
        self._key = key
        self._tickets = tickets
        self.full_at: dict[str, float] = {}
        """By namespace, the refill time at which its bucket is full again. While empty, no pod is held and `admits`
        need not be called."""
        self._refill_time = 0.0
        self._refilled_at = 0.0
        """The time of the clock that belongs to the refill time."""
        self._rate = self._share
        """Refill time per second."""
        self._next_full_at = inf
        """The refill time at which the first bucket that is not full is full, and the rate changes."""
        self._held: dict[str, PodHeap] = {}
        """By namespace, in the order of the active queue."""
        self._admitted_at: dict[str, float] = {}
        """By namespace, when one of its pods was last admitted without debt after the attempt; the latest last."""
        self._unopposed: QueuedPodInfo | None = None
        """The pod popped last, if it was popped unopposed."""

    @property
    def limits(self) -> bool:
        return bool(self._share)

    def __len__(self) -> int:
        return sum(map(len, self._held.values()))

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return chain.from_iterable(self._held.values())

    def charge(self, namespace: str, seconds: float, now: float) -> float:
        """Charge the namespace of the pod popped last; returns the seconds for which the namespace has to wait, unless
        other namespaces are charged meanwhile."""
        if not self._share:
            return 0.0
        self._refill(now)
        before = self.full_at.get(namespace, self._refill_time)
        full_at = max(before, self._refill_time) + seconds
        if self._unopposed is not None:
            # No other namespace needed the time. Without a bound, the debt of a namespace that is alone would grow for
            # as long as it is alone.
            bound = self._refill_time + MAX_UNOPPOSED_WAIT_SECONDS * self._rate + BURST_SECONDS
            full_at = max(before, min(full_at, bound))
        self.full_at[namespace] = full_at
        self._set_rate()
        debt = self._debt(namespace)
        if debt:
            self._admitted_at.pop(namespace, None)
        return debt / self._rate

    def _refill(self, now: float) -> None:
        """Advance the refill time to the clock's."""
        elapsed, self._refilled_at = now - self._refilled_at, now
        while self._next_full_at < inf and elapsed > 0.0:
            refilled = min(elapsed * self._rate, self._next_full_at - self._refill_time)
            elapsed -= refilled / self._rate
            self._refill_time += refilled
            if self._next_full_at - self._refill_time <= _ROUNDING_SECONDS:
                self._set_rate()

    def _set_rate(self) -> None:
        full = self._refill_time + _ROUNDING_SECONDS
        filling = [full_at for full_at in self.full_at.values() if full_at > full]
        self._next_full_at = min(filling, default=inf)
        self._rate = min(self._share, max(self._share, COMMON_SHARE) / max(len(filling), 1))

    def admits(self, info: QueuedPodInfo, now: float) -> bool:
        """Whether the popped pod may be tried now; otherwise it is held."""
        if info is self._unopposed:
            return True
        self._unopposed = None
        namespace = info.pod.namespace
        self._refill(now)
        if self._debt(namespace):
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
        self._refill(now)
        released: list[QueuedPodInfo] = []
        for namespace, heap in list(self._held.items()):
            if not self._debt(namespace):
                pods = (heap.pop() for _ in range(min(len(heap), _MAX_RELEASED_PODS)))
                released += [info for info in pods if info is not None]
            if not heap:
                del self._held[namespace]
        full = self._refill_time + _ROUNDING_SECONDS
        for namespace in [name for name, full_at in self.full_at.items() if full_at <= full and name not in self._held]:
            del self.full_at[namespace]
        if not self.full_at:
            self._admitted_at.clear()
            self._unopposed = None
        return released

    def next_release(self, now: float) -> float:
        """When held pods may be tried next, or the rate changes; infinite without held pods."""
        self._refill(now)
        debts = [self._debt(namespace) for namespace, heap in self._held.items() if heap]
        if not debts:
            return inf
        until_full = self._next_full_at - self._refill_time
        released_at = now + min(until_full, *debts) / self._rate
        opposed_until = self._opposed_until(now)
        return released_at if opposed_until <= now else min(opposed_until, released_at)

    def _opposed_until(self, now: float) -> float:
        """When the last active namespace without debt stops counting as active."""
        self._refill(now)
        for namespace, admitted_at in reversed(self._admitted_at.items()):
            if not self._debt(namespace):
                return admitted_at + OTHERS_ACTIVE_SECONDS
        return -inf

    def _debt(self, namespace: str) -> float:
        """The refill time until the namespace's bucket is no longer empty."""
        debt = self.full_at.get(namespace, -inf) - self._refill_time - BURST_SECONDS
        return debt if debt > _ROUNDING_SECONDS else 0.0
