"""The events that an API server in memory keeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from stowplan.framework.instructions import EmitEvent, RepeatEvent

_MAX_SURPLUS_EVENTS = 256
"""Events beyond the kept ones, which are dropped together."""


class KeptEvents:
    """The latest events. Events that repeat for many pods are made when they are read."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: deque[EmitEvent | RepeatEvent] = deque()
        self._count = 0

    def __len__(self) -> int:
        return min(self._count, self._most)

    def __iter__(self) -> Iterator[EmitEvent]:
        surplus = max(self._count - self._most, 0)
        return islice(chain.from_iterable(map(_events_of, self._entries)), surplus, None)

    def append(self, entry: EmitEvent | RepeatEvent) -> None:
        self._entries.append(entry)
        self._count += len(entry.pods) if isinstance(entry, RepeatEvent) else 1
        if self._count > self._most + _MAX_SURPLUS_EVENTS:
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        while self._entries and self._count - (oldest := _size(self._entries[0])) >= self._most:
            self._entries.popleft()
            self._count -= oldest

    def popleft(self) -> EmitEvent:
        """Remove the oldest event."""
        while self._count > self._most:
            self._popleft()
        return self._popleft()

    def _popleft(self) -> EmitEvent:
        entry = self._entries.popleft()
        self._count -= _size(entry)
        first, *others = _events_of(entry)
        self._entries.extendleft(reversed(others))
        self._count += len(others)
        return first


def _size(entry: EmitEvent | RepeatEvent) -> int:
    return len(entry.pods) if isinstance(entry, RepeatEvent) else 1


def _events_of(entry: EmitEvent | RepeatEvent) -> Iterable[EmitEvent]:
    return entry.each() if isinstance(entry, RepeatEvent) else (entry,)
