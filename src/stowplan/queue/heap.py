"""A heap of queued pods with removal from the middle.

Upstream: pkg/scheduler/backend/heap/heap.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from stowplan.framework import Pod, QueuedPodInfo

Less = Callable[[QueuedPodInfo, QueuedPodInfo], bool]

SortKey = Callable[[QueuedPodInfo], tuple[Any, ...]]
"""Maps a pod to a tuple by which pods are ordered; all tuples have the same length."""

_MAX_STALE_ENTRIES = 64
"""Stale entries kept beyond the number of live ones before the heap is rebuilt."""


class _ByLess:
    """Orders by a `less` function. Compares a copy, so that a later update of the pod cannot corrupt the heap."""

    __slots__ = ("_item", "_less")

    def __init__(self, less: Less, item: QueuedPodInfo) -> None:
        self._less = less
        self._item = QueuedPodInfo(item.pod, item.timestamp, item.attempts, item.initial_attempt_timestamp)

    def __lt__(self, other: _ByLess) -> bool:
        return self._less(self._item, other._item)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByLess) and not (self < other or other < self)


def key_by(less: Less) -> SortKey:
    """A sort key equivalent to `less`."""
    return lambda info: (_ByLess(less, info),)


class PodHeap:
    """Pods ordered by a key; pods with equal keys in the order of arrival.

    Removal from the middle leaves a stale entry, recognized by its ticket. Heaps between which pods move must share
    their tickets.
    """

    def __init__(self, key: SortKey, tickets: Iterator[int]) -> None:
        self._key = key
        self._tickets = tickets
        self._entries: list[tuple[Any, ...]] = []
        """(*key, ticket, info)."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In the order of the key."""
        return (entry[-1] for entry in sorted(self._entries) if entry[-1].ticket == entry[-2])

    def first(self, count: int) -> list[QueuedPodInfo]:
        """The first pods in the order of the key, without sorting the others."""
        if count == 1:
            head = self.peek()
            return [] if head is None else [head]
        entries, found = self._entries, list[QueuedPodInfo]()
        nearest = [(entries[0], 0)] if entries else []
        while nearest and len(found) < count:
            entry, position = heappop(nearest)
            if entry[-1].ticket == entry[-2]:
                found.append(entry[-1])
            for child in (2 * position + 1, 2 * position + 2):
                if child < len(entries):
                    heappush(nearest, (entries[child], child))
        return found

    def push(self, info: QueuedPodInfo, ticket: float = 0) -> None:
        """Add a pod. `ticket` gives it the place of an entry that was discarded."""
        info.sub_queue = self
        info.ticket = ticket = ticket or next(self._tickets)
        heappush(self._entries, (*self._key(info), ticket, info))
        self._size += 1

    def peek(self) -> QueuedPodInfo | None:
        entries = self._entries
        while entries:
            info: QueuedPodInfo = entries[0][-1]
            if info.ticket == entries[0][-2]:
                return info
            heappop(entries)
        return None

    def pop(self) -> QueuedPodInfo | None:
        entries = self._entries
        while entries:
            entry = heappop(entries)
            info: QueuedPodInfo = entry[-1]
            if info.ticket == entry[-2]:
                self._size -= 1
                info.sub_queue = None
                info.ticket = 0
                return info
        return None

    def discard(self, info: QueuedPodInfo) -> None:
        info.sub_queue = None
        info.ticket = 0
        self._size -= 1
        if len(self._entries) > 2 * self._size + _MAX_STALE_ENTRIES:
            self._entries = [entry for entry in self._entries if entry[-1].ticket == entry[-2]]
            heapify(self._entries)

    def replace_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        before = self._key(info)
        info.pod = pod
        if self._key(info) != before:
            self.discard(info)
            self.push(info)
