"""A heap of units from which any unit can be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, cast

from stowplan.framework import Plugin, Pod, QueuedPodInfo
from stowplan.queue.queued_pod_info import QueuedPod

Less = Callable[[QueuedPodInfo, QueuedPodInfo], bool]

SortKey = Callable[[QueuedPod], tuple[Any, ...]]
"""Gives units keys that compare like the units: tuples of the same length for all of them."""

_SLACK = 64


def sort_key_of(plugin: Plugin) -> SortKey | None:
    """A plugin's `sort_key`; None for a subclass that overrides `less` and inherits a key that orders like the old one.

    The adapter of an out-of-tree plugin has the plugin as `inner`, whose class decides."""
    for cls in type(getattr(plugin, "inner", plugin)).__mro__:
        if cls is Plugin:
            break
        if "sort_key" in vars(cls):
            return cast(SortKey, plugin.sort_key)
        if "less" in vars(cls):
            break
    return None


class _ByLess:
    """Compares as a `less` function says. Keeps what it compares, so that changing a unit never harms a heap."""

    __slots__ = ("_item", "_less")

    def __init__(self, less: Less, item: QueuedPodInfo) -> None:
        self._less = less
        self._item = QueuedPodInfo(item.pod, item.timestamp, item.attempts)

    def __lt__(self, other: _ByLess) -> bool:
        return self._less(self._item, other._item)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByLess) and not (self < other or other < self)


def key_by(less: Less) -> SortKey:
    """A key that orders like `less`."""
    return lambda unit: (_ByLess(less, unit),)


class PodHeap:
    """Units in the order of a key; among equals, whoever came first goes first.

    Whatever is taken out from the middle leaves a stale entry behind: the unit's ticket tells. Heaps between which
    units move must share their tickets.
    """

    def __init__(self, key: SortKey, tickets: Iterator[int]) -> None:
        self._key = key
        self._tickets = tickets
        self._entries: list[tuple[Any, ...]] = []
        """Each the key's parts, a ticket, and a unit."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedPod]:
        """In order."""
        return (entry[-1] for entry in sorted(self._entries) if entry[-1].ticket == entry[-2])

    def push(self, unit: QueuedPod) -> None:
        unit.place = self
        unit.ticket = ticket = next(self._tickets)
        heappush(self._entries, (*self._key(unit), ticket, unit))
        self._size += 1

    def peek(self) -> QueuedPod | None:
        entries = self._entries
        while entries:
            unit: QueuedPod = entries[0][-1]
            if unit.ticket == entries[0][-2]:
                return unit
            heappop(entries)
        return None

    def pop(self) -> QueuedPod | None:
        entries = self._entries
        while entries:
            entry = heappop(entries)
            unit: QueuedPod = entry[-1]
            if unit.ticket == entry[-2]:
                self._size -= 1
                unit.place = None
                unit.ticket = 0
                return unit
        return None

    def discard(self, unit: QueuedPod) -> None:
        unit.place = None
        unit.ticket = 0
        self._size -= 1
        if len(self._entries) > 2 * self._size + _SLACK:
            self._entries = [entry for entry in self._entries if entry[-1].ticket == entry[-2]]
            heapify(self._entries)

    def replace_pod(self, unit: QueuedPod, pod: Pod) -> None:
        before = self._key(unit)
        unit.pod = pod
        if self._key(unit) != before:
            self.discard(unit)
            self.push(unit)
