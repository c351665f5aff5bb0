"""Pods that wait after a failed attempt: exponential backoff in whole seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, inf

from stowplan.framework import QueuedPodInfo
from stowplan.queue.heap import PodHeap, SortKey

_MOST_DOUBLINGS = 62


class BackoffQueue:
    """Two heaps: infos that were rejected may be popped before their time, infos that met an error never are.

    Expirations are cut to whole seconds, and a second is over when the next one begins: all infos of a second leave
    together, so that their order is that of the active queue.
    """

    def __init__(
        self, clock: Callable[[], float], initial: float, longest: float, key: SortKey, tickets: Iterator[int]
    ) -> None:
        self._clock = clock
        self._initial = initial
        self._longest = longest
        self.rejected = PodHeap(lambda info: (self.expiration(info), *key(info)), tickets)
        self.failed = PodHeap(lambda info: (self.expiration(info),), tickets)

    def __len__(self) -> int:
        return len(self.rejected) + len(self.failed)

    def push(self, info: QueuedPodInfo) -> None:
        (self.rejected if info.rejected else self.failed).push(info)

    def expiration(self, info: QueuedPodInfo) -> float:
        """The last second in which the info still waits."""
        count = info.consecutive_errors or info.unschedulable_count
        if not count or not self._longest:
            return -inf
        if info.backoff_expiration is None:
            duration = self._initial * 2.0 ** min(count - 1, _MOST_DOUBLINGS)
            info.backoff_expiration = floor(info.timestamp + min(duration, self._longest))
        return info.backoff_expiration

    def holds(self, info: QueuedPodInfo) -> bool:
        """Whether the info has to wait."""
        return self.expiration(info) >= floor(self._clock())

    def take_completed(self) -> list[QueuedPodInfo]:
        """Take out all infos that have waited long enough."""
        completed = []
        for heap in (self.rejected, self.failed):
            while (info := heap.peek()) is not None and not self.holds(info):
                heap.pop()
                completed.append(info)
        return completed

    def next_completion(self) -> float:
        """When the first info will have waited long enough; infinite if there is none."""
        heads = (self.rejected.peek(), self.failed.peek())
        return min((self.expiration(info) + 1 for info in heads if info is not None), default=inf)
