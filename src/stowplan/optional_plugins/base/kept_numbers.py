"""Numbers for each node that are computed in Python and kept until the node changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.kept import KeptBySlot
from stowplan.cache.nodes import NodeTable
from stowplan.framework import NodeInfo, Nodes, Slots


class KeptNumbers(KeptBySlot[None]):
    """One row for each of the numbers that `compute` returns for a node; zero at slots without a node."""

    def __init__(
        self,
        nodes: NodeTable,
        compute: Callable[[NodeInfo], Sequence[float]],
        row_count: int,
        *,
        dtype: type[np.generic] = np.float64,
        follows_pods: bool = True,
    ) -> None:
        super().__init__(nodes, follows_pods=follows_pods)
        self._compute = compute
        self._rows: NDArray[Any] = np.zeros((row_count, 0), dtype=dtype)

    def of(self, nodes: Nodes) -> NDArray[Any]:
        """The rows for a subset of nodes."""
        self.refresh(None)
        index = nodes.index
        return self._rows[:, index] if isinstance(index, slice) else self._rows.take(index, axis=1)

    def rebuild(self, context: None = None) -> None:
        self._rows = np.zeros((len(self._rows), self.nodes.capacity), dtype=self._rows.dtype)
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: Slots, context: None = None) -> None:
        for slot in slots.tolist():
            info = self.nodes.infos[slot]
            self._rows[:, slot] = 0 if info is None else self._compute(info)
