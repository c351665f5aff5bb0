"""Types of the vector form, in which a plugin handles many nodes in one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.node_info import NodeInfo

T = TypeVar("T", bound=np.generic)

Mask = NDArray[np.bool_]
"""One truth value for each position of a `Nodes`."""

Scores = NDArray[np.int64]
Slots = NDArray[np.intp]


_ZERO = bytes(8)

MAX_DERIVED_ENTRIES = 64
"""Entries of `Nodes.derived`."""


def no_scores(count: int) -> Scores:
    """Zero for every node, as a read-only view of a single number."""
    return np.ndarray(count, dtype=np.int64, buffer=_ZERO, strides=(0,))


class Nodes:
    """A subset of the cluster's nodes.

    Columns are indexed with `index`: a slice over the whole cluster (a view, without copying) or an array of slots. A
    slice may include slots that are not in the subset, because they are empty or infeasible: their positions are in
    `holes`. Values at holes are ignored, so a vector may hold anything there; statistics have to leave them out, as
    `extremes` does.
    """

    __slots__ = ("_infos", "_read", "count", "derived", "holes", "index", "meant")

    def __init__(
        self,
        index: slice | Slots,
        count: int,
        infos: Sequence[NodeInfo | None],
        holes: Slots | None = None,
        *,
        fleeting: bool = False,
    ) -> None:
        self.index = index
        self.count = count
        """Length of vectors over this subset, holes included."""
        self.holes = holes
        self.meant = count - (0 if holes is None else len(holes))
        """Number of nodes in the subset, without holes."""
        self.derived: dict[Hashable, Any] = {}
        """Values that plugins derive from the subset alone. The runtime passes the same Nodes object as long as the
        subset is unchanged."""
        self._infos = infos
        # A subset that is used in one cycle only gathers each column once, for all plugins.
        self._read: dict[int, tuple[NDArray[Any], NDArray[Any]]] | None = {} if fleeting else None

    def __len__(self) -> int:
        return self.count

    def keep(self, key: Hashable, value: Any) -> None:
        """Add to `derived`, which is emptied when it is full: its keys may be named by pods."""
        if len(self.derived) >= MAX_DERIVED_ENTRIES:
            self.derived.clear()
        self.derived[key] = value

    def read(self, column: NDArray[T]) -> NDArray[T]:
        """The values of a column for this subset; read-only."""
        index = self.index
        if isinstance(index, slice):
            return column[index]
        if self._read is None:
            return column.take(index)
        known = self._read.get(id(column))
        if known is None:
            # Keeping the column prevents the reuse of its id.
            known = self._read[id(column)] = (column, column.take(index))
        return known[1]

    def slots(self) -> Slots:
        """The slots of the subset, in order, without holes."""
        if not isinstance(self.index, slice):
            return self.index
        slots = np.arange(self.index.start or 0, self.index.stop, dtype=np.intp)
        return slots if self.holes is None else np.delete(slots, self.holes)

    def slots_at(self, positions: Slots) -> Slots:
        """The slots at positions of a vector over this subset."""
        if isinstance(self.index, slice):
            return positions + (self.index.start or 0)
        return self.index[positions]

    def at(self, positions: Slots) -> Nodes:
        """The nodes at positions of a vector over this subset."""
        return Nodes(self.slots_at(positions), len(positions), self._infos)

    def infos(self) -> Iterator[tuple[int, NodeInfo]]:
        """(position in vectors over this subset, node) for each node of the subset."""
        slots = range(self.index.start or 0, self.index.stop) if isinstance(self.index, slice) else self.index.tolist()
        holes = frozenset() if self.holes is None else frozenset(self.holes.tolist())
        for position, slot in enumerate(slots):
            info = self._infos[slot]
            if info is not None and position not in holes:
                yield position, info

    def extremes(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """(lowest, highest) value over the subset. Overwrites the values at holes."""
        if len(values) and values.strides[0] == 0:
            return values[0], values[0]
        if self.holes is not None and len(self.holes):
            if not self.meant:
                return 0, 0
            values[self.holes] = values[self._anchor()]
        return values.min(), values.max()

    def _anchor(self) -> int:
        """The first position that is not a hole."""
        assert self.holes is not None
        gaps = np.flatnonzero(self.holes != np.arange(len(self.holes)))
        return int(gaps[0]) if len(gaps) else len(self.holes)
