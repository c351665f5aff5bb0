"""A bounded map that drops the entry which was used least recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruMap(Generic[K, V]):
    """At most `limit` values by key."""

    __slots__ = ("_limit", "_seen", "_values")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        """The keys, those used least recently first."""
        return iter(self._values)

    def get(self, key: K) -> V | None:
        """The value, which becomes the one used last; None if there is none."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """The value, without counting as a use; None if there is none."""
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        values = self._values
        values[key] = value
        values.move_to_end(key)
        if len(values) > self._limit:
            values.popitem(last=False)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def used_before(self, key: K) -> bool:
        """Whether the key was passed here before: a value is worth its memory from the second use on.

        Hashes are kept instead of keys, because comparing nested tuples takes long. Two keys with one hash do no harm.
        """
        seen, number = self._seen, hash(key)
        if number in seen:
            return True
        seen[number] = None
        if len(seen) > self._limit:
            seen.popitem(last=False)
        return False

    def pop(self, key: K) -> V | None:
        return self._values.pop(key, None)

    def oldest(self) -> tuple[K, V] | None:
        """The entry that was used least recently."""
        return next(iter(self._values.items()), None)

    def clear(self) -> None:
        self._values.clear()
        self._seen.clear()
