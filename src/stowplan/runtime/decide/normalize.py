"""The predefined normalisers, over vectors. Each needs only the extremes of the feasible nodes' raw scores.

Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Mask, Normalizer, Scores
from stowplan.plugins.base import InTreePlugin

Raw = NDArray[Any]
"""Raw scores: int64, or float64 for out-of-tree plugins with fractions."""


def _share_of_max(raw: Raw, least: float, most: float) -> Scores:
    if most == 0:
        return raw.astype(np.int64)
    return _percent_of(raw, most)


def _reversed_share_of_max(raw: Raw, least: float, most: float) -> Scores:
    if most == 0:
        return np.full(len(raw), 100, dtype=np.int64)
    return 100 - _percent_of(raw, most)


def _percent_of(raw: Raw, most: float) -> Scores:
    """100 x raw / most, truncated; exact in floats for any realistic score."""
    shares = raw * 100.0
    shares /= float(most)
    return shares.astype(np.int64)


def _stretched(raw: Raw, least: float, most: float) -> Scores:
    if most == least:
        return np.zeros(len(raw), dtype=np.int64)
    return (100.0 * ((raw - least) / (most - least))).astype(np.int64)


def _reversed_stretched(raw: Raw, least: float, most: float) -> Scores:
    return 100 - _stretched(raw, least, most)


NORMALIZERS: dict[Normalizer, Callable[[Raw, float, float], Scores]] = {
    "default": _share_of_max,
    "default-reverse": _reversed_share_of_max,
    "min-max": _stretched,
    "reverse": _reversed_stretched,
}


class Normalized:
    """A node-scoped plugin whose scores are normalised over the feasible nodes."""

    __slots__ = ("least", "most", "plugin", "raw", "weight")

    def __init__(self, plugin: InTreePlugin, weight: int, raw: Raw) -> None:
        self.plugin = plugin
        self.weight = weight
        self.raw = raw
        self.least: float = 0
        self.most: float = 0

    def spread(self, feasible: Mask) -> Scores:
        """Weighted scores of all nodes, normalised over these."""
        raw = self.raw[feasible]
        if len(raw):
            self.least, self.most = raw.min(), raw.max()
        return self.over(self.raw, self.least, self.most)

    def over(self, raw: Raw, least: float, most: float) -> Scores:
        """Weighted scores where these are the extremes."""
        assert self.plugin.normalize is not None
        return self.weight * NORMALIZERS[self.plugin.normalize](raw, least, most)

    def moved_by(self, slots: NDArray[np.intp], joins: Mask) -> bool:
        """Whether the normalisation may change when these nodes join or leave the feasible ones."""
        values = self.raw[slots]
        inside = (values > self.least) & (values < self.most)
        return bool((~inside & (~joins | (values < self.least) | (values > self.most))).any())
