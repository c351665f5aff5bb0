"""Growable columns: one number for each slot, twice.

A column is a list of exact ints for reads of one node and an array of floats for passes over many nodes: reading an
int from a list costs a fraction of reading it from an array, and floats divide several times faster than integers.
Floats hold integers exactly up to 2**53, nine million gigabytes; `widest` shows whether a column goes further.
"""

from __future__ import annotations

from functools import lru_cache
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def float_view(array: Floats) -> memoryview[float]:
    """A view of the same memory, from which one number is read without the cost of a NumPy scalar."""
    return array.data.cast("B").cast("d")


@lru_cache(maxsize=8)
def shared_zeros(size: int) -> Floats:
    """Zeros that everything without an amount shares; read-only."""
    zeros = np.zeros(size)
    zeros.flags.writeable = False
    return zeros


class Amounts(dict[int, int]):
    """Amounts by slot that are zero for nearly all slots: only the others are stored."""

    __slots__ = ()

    def __missing__(self, slot: int) -> int:
        return 0


class Column:
    """Integers by slot."""

    __slots__ = ("array", "everywhere", "values", "widest")

    values: list[int] | Amounts

    def __init__(self, size: int) -> None:
        self.array: Floats = np.zeros(size)
        self.values = [0] * size
        self.widest = 0
        """The largest value that was ever set."""
        self.everywhere = (0, False)
        """A position of the log of node objects, and whether every node had some at that time."""

    def grow(self, size: int) -> None:
        self.array = np.concatenate([self.array, np.zeros(size - len(self.array))])
        self.grow_values(size)

    def grow_values(self, size: int) -> None:
        assert isinstance(self.values, list)
        self.values.extend([0] * (size - len(self.values)))

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
            column.grow_values(size)
            column.array = data[row]


class ScalarColumn(Column):
    """The column of a scalar resource, such as an extended one, which few nodes have.

    `values` stores the slots with an amount; the array is the shared zeros while no slot has any. `values` is the same
    object for as long as the column lives.
    """

    __slots__ = ("__weakref__", "_table", "name")

    def __init__(self, name: str, table: ScalarColumns) -> None:
        super().__init__(0)
        self.name = name
        self.values = Amounts()
        self.array = shared_zeros(table.size)
        self._table = table

    def grow(self, size: int) -> None:
        if self.values:
            self.array = np.concatenate([self.array, np.zeros(size - len(self.array))])
        else:
            self.array = shared_zeros(size)

    def set(self, slot: int, value: int) -> None:
        values = self.values
        if value:
            if not values:
                self.array = self._table.enter(self)
            values[slot] = value
            self.array[slot] = value
            self.widest = max(self.widest, value)
        elif values:
            self.array[slot] = 0
            assert isinstance(values, Amounts)
            if values.pop(slot, 0) and not values:
                self.array = self._table.leave(self)


class ScalarColumns:
    """Columns by resource: `live` holds those with an amount on any slot; a caller keeps the others alive."""

    __slots__ = ("_free", "_held", "_vacant", "live", "size")

    def __init__(self, live: dict[str, Column], size: int, free: list[int], vacant: float) -> None:
        """`live` is shared with the node table; slots in `free` hold `vacant` in the arrays of live columns."""
        self.live = live
        self.size = size
        self._free = free
        self._vacant = vacant
        self._held: WeakValueDictionary[str, ScalarColumn] = WeakValueDictionary()

    def get(self, name: str) -> Column:
        column: Column | None = self.live.get(name) or self._held.get(name)
        if column is None:
            column = self._held[name] = ScalarColumn(name, self)
        return column

    def enter(self, column: ScalarColumn) -> Floats:
        """Keep a column that gets its first amount; returns an array of its own."""
        self.live[column.name] = column
        array = np.zeros(self.size)
        if self._vacant:
            array[self._free] = self._vacant
        return array

    def leave(self, column: ScalarColumn) -> Floats:
        """Drop a column that lost its last amount; returns the shared zeros."""
        del self.live[column.name]
        return shared_zeros(self.size)

    def grow(self, size: int) -> None:
        self.size = size
        for column in self._held.values():
            column.grow(size)


class ChangeLog:
    """The slots that changed, in order. Readers keep a position and read the changes after it.

    There are two views of the changes: the list `slots` is cheapest for a reader that is a few changes behind, the
    array `changed` (the position of each slot's latest change) for one that is many behind.
    """

    __slots__ = ("changed", "position", "slots")

    def __init__(self, size: int) -> None:
        self.changed: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self.slots: list[int] = []
        """The latest changes: at least the last 4,096."""
        self.position = 1
        """The position of the next change."""

    def grow(self, size: int) -> None:
        self.changed = np.concatenate([self.changed, np.zeros(size - len(self.changed), dtype=np.int64)])

    def append(self, slot: int) -> None:
        self.changed[slot] = self.position
        self.position += 1
        self.slots.append(slot)
        if len(self.slots) > 8192:
            del self.slots[:4096]

    def extend(self, slots: list[int]) -> None:
        """Append several slots, each of which differs from the others."""
        self.changed[slots] = range(self.position, self.position + len(slots))
        self.position += len(slots)
        self.slots += slots
        while len(self.slots) > 8192:
            del self.slots[:4096]

    def recent(self, position: int, max_changes: int) -> list[int] | None:
        """The slots that changed at or after the position, with repeats; None if there are more changes, or more than
        the list has."""
        behind, known = self.position - position, len(self.slots)
        return self.slots[known - behind :] if behind <= min(max_changes, known) else None

    def changed_since(self, position: int) -> NDArray[np.intp]:
        """The slots that changed at or after the position, each once, by a pass over the array."""
        return (self.changed >= position).nonzero()[0]
