"""Growable columns: one number for each slot, twice.

A column is a NumPy array for passes over many nodes and a plain list for a look at one: reading an int from a list
costs a fraction of reading it from an array, and the one-node path is what a repeated pod pays. Both are always equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Column:
    """int64 values by slot."""

    __slots__ = ("array", "values")

    def __init__(self, size: int) -> None:
        self.array: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self.values: list[int] = [0] * size

    def grow(self, size: int) -> None:
        self.array = np.concatenate([self.array, np.zeros(size - len(self.values), dtype=np.int64)])
        self.values.extend([0] * (size - len(self.values)))

    def set(self, slot: int, value: int) -> None:
        self.values[slot] = value
        self.array[slot] = value

    def add(self, slot: int, amount: int) -> None:
        value = self.values[slot] + amount
        self.values[slot] = value
        self.array[slot] = value


class ChangeLog:
    """Which slots changed, in order; readers remember a position and ask what came after it.

    Two views of the same facts: the list of changes is the cheapest for a reader that is a few changes behind, the
    `changed` array (position of each slot's latest change) for one that is many behind. Old entries are dropped; a
    reader from before them learns that it must look at everything.
    """

    __slots__ = ("_first", "_slots", "changed")

    def __init__(self, size: int) -> None:
        self.changed: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._slots: list[int] = []
        self._first = 1

    @property
    def position(self) -> int:
        return self._first + len(self._slots)

    def grow(self, size: int) -> None:
        self.changed = np.concatenate([self.changed, np.zeros(size - len(self.changed), dtype=np.int64)])

    def append(self, slot: int) -> None:
        self.changed[slot] = self._first + len(self._slots)
        self._slots.append(slot)
        if len(self._slots) > 8192:
            self._first += 4096
            del self._slots[:4096]

    def since(self, position: int) -> list[int] | None:
        """Slots that changed at or after the position, with repeats; None where the log no longer reaches back."""
        if position < self._first:
            return None
        return self._slots[position - self._first :]

    def changed_since(self, position: int) -> NDArray[np.intp]:
        """The same, each slot once, by a pass over the array; reaches back as far as one likes."""
        return np.flatnonzero(self.changed >= position)
