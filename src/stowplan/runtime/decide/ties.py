"""Which of the nodes with equal totals is chosen: the one with the fewest pods, in steps of four, and of those a random
one.

Upstream: pkg/scheduler/schedule_one.go (selectHost)
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.cache.nodes import HANDICAP, HANDICAP_LIMIT
from stowplan.framework import Nodes, Slots

TIE_BITS = 16
"""The low bits of a rank, which decide between nodes with equal totals."""
TIE_MASK = (1 << TIE_BITS) - 1

Ranks = NDArray[np.signedinteger[Any]]
"""Totals of nodes with tie-breaking bits: int32 where the weights allow it, which halves the memory of a plan."""


def rank_type(weights: Iterable[int]) -> type[np.int32] | type[np.int64]:
    """The integer type for totals of up to 100 times all weights, shifted past the tie bits."""
    return np.int32 if (100 * sum(weights) + 2) << TIE_BITS < 1 << 31 else np.int64


class Ties:
    """The tie-breaking bits of ranks, by which one argmax finds the best node: noise less a handicap.

    The noise of a slot does not change, and the handicap is that of the pods on the node, so that a decision made again
    is the same decision. Without the handicap, all pods that score some nodes equally would go to one of these nodes
    until it is full.
    """

    def __init__(self, nodes: NodeTable, rng: random.Random) -> None:
        self._nodes = nodes
        self._generator = np.random.default_rng(rng.getrandbits(64))
        self._noise: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.by_name = False
        """Whether of equal nodes the one with the first name is chosen."""
        self._membership = -1

    @property
    def noise(self) -> NDArray[np.int64]:
        """By slot, up to the table's capacity."""
        if self.by_name:
            return self._by_name()
        missing = self._nodes.capacity - len(self._noise)
        if missing > 0:
            more = HANDICAP_LIMIT + self._generator.integers(0, HANDICAP, missing, dtype=np.int64)
            self._noise = np.concatenate([self._noise, more])
        return self._noise

    @property
    def handicap(self) -> NDArray[np.int32]:
        """By slot, up to the table's capacity. The same array until the table grows."""
        return np.zeros(self._nodes.capacity, dtype=np.int32) if self.by_name else self._nodes.handicap

    def bits(self, slots: Slots | slice) -> NDArray[np.int64]:
        bits: NDArray[np.int64] = self.noise[slots] - self.handicap[slots]
        return bits

    def _by_name(self) -> NDArray[np.int64]:
        nodes = self._nodes
        if self._membership != nodes.membership or len(self._noise) != nodes.capacity:
            self._membership = nodes.membership
            noise = np.zeros(nodes.capacity, dtype=np.int64)
            for rank, name in enumerate(sorted(nodes.slot_of)):
                noise[nodes.slot_of[name]] = max(TIE_MASK - rank, 0)
            self._noise = noise
        return self._noise


def best_slot(nodes: Nodes, ranks: Ranks) -> int:
    """The slot of the highest rank; `ranks` is written to."""
    if nodes.holes is not None:
        ranks[nodes.holes] = -1
    position = int(ranks.argmax())
    return position if isinstance(nodes.index, slice) else int(nodes.index[position])
