"""Read-only views of the scheduling queue: which pods are where.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (PendingPods)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from stowplan.framework import QueuedPodInfo
from stowplan.queue.backoff_queue import BackoffQueue
from stowplan.queue.heap import PodHeap
from stowplan.queue.in_flight import InFlight
from stowplan.queue.namespace_throttle import NamespaceThrottle
from stowplan.queue.refused_batch import RefusedBatch, each_pod
from stowplan.queue.unschedulable_pods import UnschedulablePods


class QueueViews:
    """The sub-queues, and their pods."""

    _infos: dict[str, QueuedPodInfo]
    """All pods except those in flight, by uid."""
    _active: PodHeap
    _backoff: BackoffQueue
    _throttle: NamespaceThrottle
    _unschedulable: UnschedulablePods
    _batches: dict[str, RefusedBatch]
    """By their own uid."""
    _in_flight: InFlight

    def __len__(self) -> int:
        """Number of queued pods, without those in flight."""
        return len(self._infos)

    def is_queued(self, uid: str) -> bool:
        return uid in self._infos

    def in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    @property
    def in_flight_pods(self) -> Iterator[QueuedPodInfo]:
        """Pods in flight, in the order of pop."""
        return iter(self._in_flight)

    @property
    def active(self) -> Iterator[QueuedPodInfo]:
        """In the order of pop."""
        return each_pod(self._active)

    def next_to_pop(self, count: int) -> list[QueuedPodInfo]:
        """The first pods of the active queue, in the order of pop."""
        return list(islice(each_pod(self._active.first(count)), count))

    def next_to_return(self, count: int) -> list[QueuedPodInfo]:
        """The first pods in backoff, in the order in which their backoff ends, and pods of throttled namespaces."""
        found = list(each_pod([*self._backoff.rejected.first(count), *self._backoff.not_early.first(count)]))
        found.sort(key=self._backoff.expiration)
        return [*found, *islice(self._throttle, count)][:count]

    @property
    def backoff(self) -> Iterator[QueuedPodInfo]:
        return chain(each_pod(self._backoff.rejected), (info for info in self._backoff.not_early if info.rejected))

    @property
    def error_backoff(self) -> Iterator[QueuedPodInfo]:
        return (info for info in self._backoff.not_early if not info.rejected)

    @property
    def throttled(self) -> Iterator[QueuedPodInfo]:
        """Pods of namespaces that have used up their share."""
        return iter(self._throttle)

    @property
    def unschedulable(self) -> Iterator[QueuedPodInfo]:
        return each_pod(info for info in self._unschedulable if not info.gated)

    @property
    def gated(self) -> Iterator[QueuedPodInfo]:
        return (info for info in self._unschedulable if info.gated)

    def counts(self) -> dict[str, int]:
        """Number of pods by sub-queue; throttled pods count as backing off."""
        gated = sum(1 for _ in self.gated)
        counts = {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._throttle),
            "unschedulable": len(self._unschedulable) - gated,
            "gated": gated,
        }
        names = {id(self._active): "active", id(self._unschedulable): "unschedulable"}
        for batch in self._batches.values():
            counts[names.get(id(batch.sub_queue), "backoff")] += len(batch) - 1
        return counts
