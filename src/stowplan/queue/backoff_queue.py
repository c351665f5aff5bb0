"""Pods that back off after a failed attempt: exponentially, in whole seconds.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, inf

from stowplan.framework import QueuedPodInfo
from stowplan.queue.heap import PodHeap, SortKey

_MAX_DOUBLINGS = 62
_SECONDS_PER_COST = 100.0
"""A large pod is queued by every event that may concern it. So each takes at most one per cent of the loop's time."""
_MAX_COST_SECONDS = 300.0
"""After which pods that no event wakes are tried again."""


class BackoffQueue:
    """Two heaps: rejected pods may be popped before their backoff ends; pods whose attempt met an error may not, nor
    large pods, whose attempt would delay the pods that come meanwhile.

    Expirations are truncated to whole seconds: all pods of the same second leave together, and the active queue orders
    them.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        initial_seconds: float,
        max_seconds: float,
        key: SortKey,
        tickets: Iterator[int],
    ) -> None:
        self._clock = clock
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self.rejected = PodHeap(lambda info: (self.expiration(info), *key(info)), tickets)
        self.not_early = PodHeap(lambda info: (self.expiration(info),), tickets)

    def __len__(self) -> int:
        return len(self.rejected) + len(self.not_early)

    def push(self, info: QueuedPodInfo) -> None:
        (self.rejected if info.rejected and not info.cost else self.not_early).push(info)

    def expiration(self, info: QueuedPodInfo) -> float:
        """The last second in which the pod still waits."""
        count = info.consecutive_errors or (info.spared is not None and info.is_spared) or info.unschedulable_count
        if not count or not self._max_seconds:
            return -inf
        if info.backoff_expiration is None:
            duration = self._initial_seconds * 2.0 ** min(count - 1, _MAX_DOUBLINGS)
            duration = min(duration, self._max_seconds)
            if info.cost:
                duration = max(duration, min(info.cost * _SECONDS_PER_COST, _MAX_COST_SECONDS))
            info.backoff_expiration = floor(info.timestamp + duration)
        return info.backoff_expiration

    def holds(self, info: QueuedPodInfo) -> bool:
        """Whether the pod still backs off."""
        return self.expiration(info) >= floor(self._clock())

    def is_longest(self, info: QueuedPodInfo) -> bool:
        """Whether the backoff of a rejected pod does not grow with further rejections."""
        doublings = min(info.unschedulable_count - 1, _MAX_DOUBLINGS)
        return self._initial_seconds * 2.0**doublings >= self._max_seconds

    def take_completed(self) -> list[QueuedPodInfo]:
        """Remove and return all pods whose backoff has ended."""
        completed = []
        for heap in (self.rejected, self.not_early):
            while (info := heap.peek()) is not None and not self.holds(info):
                heap.pop()
                completed.append(info)
        return completed

    def next_completion(self) -> float:
        """When the next backoff ends; infinite without any pod."""
        rejected, other = self.rejected.peek(), self.not_early.peek()
        if rejected is None and other is None:  # Asked for at every step of a simulation.
            return inf
        return min(self.expiration(info) + 1 for info in (rejected, other) if info is not None)
