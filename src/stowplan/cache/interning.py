"""A table of weakly held values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar
from weakref import ref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MIN_SWEPT_ENTRIES = 1024


class WeakTable(Generic[K, V]):
    """As weakref.WeakValueDictionary, for tables that are mostly added to: entries whose value is gone are swept out
    when the table has doubled, or on request, instead of by a callback each, which makes an insertion several times
    cheaper."""

    __slots__ = ("_entries", "_limit")

    def __init__(self) -> None:
        self._entries: dict[K, ref[V]] = {}
        self._limit = _MIN_SWEPT_ENTRIES

    def __bool__(self) -> bool:
        """Whether there may be anything in it."""
        return bool(self._entries)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        return None if entry is None else entry()

    def put(self, key: K, value: V) -> None:
        self._entries[key] = ref(value)
        if len(self._entries) > self._limit:
            self.sweep()

    def sweep(self) -> None:
        """Drop the entries whose value is gone."""
        self._entries = {key: entry for key, entry in self._entries.items() if entry() is not None}
        self._limit = max(_MIN_SWEPT_ENTRIES, 2 * len(self._entries))

    def items(self) -> Iterator[tuple[K, V]]:
        for key, entry in list(self._entries.items()):
            value = entry()
            if value is not None:
                yield key, value

    def values(self) -> Iterator[V]:
        return (value for _, value in self.items())
