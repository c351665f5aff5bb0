"""Breaking ties between nodes of equal total, by a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable

TIE_BITS = 16
"""The low bits of a rank, which are random."""

Ranks = NDArray[np.signedinteger[Any]]
"""Totals of nodes with tie-breaking bits: int32 where the weights allow it, which halves the memory of a plan."""


def rank_type(weights: Iterable[int]) -> type[np.int32] | type[np.int64]:
    """The integer type for totals of up to 100 times all weights, shifted past the tie bits."""
    return np.int32 if (100 * sum(weights) + 2) << TIE_BITS < 1 << 31 else np.int64


class Ties:
    """A random number for each slot, in the low bits of ranks: one argmax finds the best node with ties broken.

    The numbers do not change, so that a decision made again is the same decision.
    """

    def __init__(self, nodes: NodeTable, rng: random.Random) -> None:
        self._nodes = nodes
        self._generator = np.random.default_rng(rng.getrandbits(64))
        self._noise: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def noise(self) -> NDArray[np.int64]:
        """By slot, up to the table's capacity."""
        missing = self._nodes.capacity - len(self._noise)
        if missing > 0:
            more = self._generator.integers(0, 1 << TIE_BITS, missing, dtype=np.int64)
            self._noise = np.concatenate([self._noise, more])
        return self._noise
