"""Units that wait after a failed attempt: exponential backoff in whole seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, inf

from stowplan.queue.heap import PodHeap, SortKey
from stowplan.queue.queued_pod_info import QueuedPod

_MOST_DOUBLINGS = 62


class BackoffQueue:
    """Two heaps: units that were rejected may be popped before their time, units that met an error never are.

    Expirations are cut to whole seconds, and a second is over when the next one begins: all units of a second leave
    together, so that their order is that of the active queue.
    """

    def __init__(
        self, clock: Callable[[], float], initial: float, longest: float, key: SortKey, tickets: Iterator[int]
    ) -> None:
        self._clock = clock
        self._initial = initial
        self._longest = longest
        self.rejected = PodHeap(lambda unit: (self.expiration(unit), *key(unit)), tickets)
        self.failed = PodHeap(lambda unit: (self.expiration(unit),), tickets)

    def __len__(self) -> int:
        return len(self.rejected) + len(self.failed)

    def push(self, unit: QueuedPod) -> None:
        (self.rejected if unit.rejected else self.failed).push(unit)

    def expiration(self, unit: QueuedPod) -> float:
        """The last second in which the unit still waits."""
        count = unit.consecutive_errors or unit.unschedulable_count
        if not count or not self._longest:
            return -inf
        if unit.backoff_expiration is None:
            duration = self._initial * 2.0 ** min(count - 1, _MOST_DOUBLINGS)
            unit.backoff_expiration = floor(unit.timestamp + min(duration, self._longest))
        return unit.backoff_expiration

    def holds(self, unit: QueuedPod) -> bool:
        """Whether the unit has to wait."""
        return self.expiration(unit) >= floor(self._clock())

    def take_completed(self) -> list[QueuedPod]:
        """Take out all units that have waited long enough."""
        completed = []
        for heap in (self.rejected, self.failed):
            while (unit := heap.peek()) is not None and not self.holds(unit):
                heap.pop()
                completed.append(unit)
        return completed

    def next_completion(self) -> float:
        """When the first unit will have waited long enough; infinite if there is none."""
        heads = (self.rejected.peek(), self.failed.peek())
        return min((self.expiration(unit) + 1 for unit in heads if unit is not None), default=inf)
