"""Growable columns: one number for each slot, twice.

A column is a list of exact ints for reads of one node and an array of floats for passes over many nodes: reading an
int from a list costs a fraction of reading it from an array, and floats divide several times faster than integers.
Floats hold integers exactly up to 2**53, nine million gigabytes; `widest` shows whether a column goes further.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def float_view(array: Floats) -> memoryview[float]:
    """A view of the same memory, from which one number is read without the cost of a NumPy scalar."""
    return array.data.cast("B").cast("d")


class Column:
    """Integers by slot."""

    __slots__ = ("array", "values", "widest")

    def __init__(self, size: int) -> None:
        self.array: Floats = np.zeros(size)
        self.values: list[int] = [0] * size
        self.widest = 0
        """The largest value that was ever set."""

    def grow(self, size: int) -> None:
        more = size - len(self.values)
        self.array = np.concatenate([self.array, np.zeros(more)])
        self.values.extend([0] * more)

    def set(self, slot: int, value: int) -> None:
        self.values[slot] = value
        self.array[slot] = value
        self.widest = max(self.widest, value)


class Sheet:
    """The columns that filters and scores read for nearly every pod, as rows of one array: gathering some nodes takes
    one call, and cpu and memory are computed side by side."""

    def __init__(self, size: int) -> None:
        self.data: Floats = np.zeros((8, size))
        self.columns = tuple(Column(0) for _ in range(8))
        (
            self.allocatable_cpu,
            self.allocatable_memory,
            self.requested_cpu,
            self.requested_memory,
            self.non_zero_cpu,
            self.non_zero_memory,
            self.pod_count,
            self.allowed_pods,
        ) = self.columns
        self.grow(size)

    def grow(self, size: int) -> None:
        data = np.zeros((8, size))
        data[:, : self.data.shape[1]] = self.data
        self.data = data
        for row, column in enumerate(self.columns):
            column.values.extend([0] * (size - len(column.values)))
            column.array = data[row]


class ChangeLog:
    """The slots that changed, in order. Readers keep a position and read the changes after it.

    There are two views of the changes: the list `slots` is cheapest for a reader that is a few changes behind, the
    array `changed` (the position of each slot's latest change) for one that is many behind.
    """

    __slots__ = ("_first", "changed", "position", "slots")

    def __init__(self, size: int) -> None:
        self.changed: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self.slots: list[int] = []
        """The latest changes, at least 4,096 of them where there were so many."""
        self._first = 1
        self.position = 1
        """The position of the next change."""

    def grow(self, size: int) -> None:
        self.changed = np.concatenate([self.changed, np.zeros(size - len(self.changed), dtype=np.int64)])

    def append(self, slot: int) -> None:
        self.changed[slot] = self.position
        self.position += 1
        self.slots.append(slot)
        if len(self.slots) > 8192:
            self._first += 4096
            del self.slots[:4096]

    def since(self, position: int) -> list[int] | None:
        """Slots that changed at or after the position, with repeats; None where the log no longer reaches back."""
        if position < self._first:
            return None
        return self.slots[position - self._first :]

    def changed_since(self, position: int) -> NDArray[np.intp]:
        """The same, each slot once, by a pass over the array; works for every position."""
        return (self.changed >= position).nonzero()[0]
