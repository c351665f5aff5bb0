"""Scores on the scheduler's scale: from any range of numbers to 0..10, and what that is worth beside its plugins."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan import logs

HIGHEST = 10
"""An extender's best score; the scheduler multiplies it with the weight and, since v1.17, with ten."""

PLUGIN_WEIGHTS = 12
"""What the weights of kube-scheduler's default score plugins add up to; each of them gives 0 to 100."""

log = logs.get(__name__)


def min_max(values: Mapping[str, float]) -> dict[str, int]:
    """The least value becomes 0, the greatest 10, those between in proportion. Equal values all become 0."""
    low, high = min(values.values(), default=0), max(values.values(), default=0)
    if low == high:
        return dict.fromkeys(values, 0)
    return {name: linear(value, low, high) for name, value in values.items()}


def inverse(values: Mapping[str, float]) -> dict[str, int]:
    """As `min_max`, but the least value becomes 10: for costs and latencies."""
    return min_max({name: -value for name, value in values.items()})


def rank(values: Mapping[str, float]) -> dict[str, int]:
    """By order alone: the best 10, the worst 0, however far apart they are. Equal values are equal."""
    order = sorted(set(values.values()))
    if len(order) < 2:
        return dict.fromkeys(values, 0)
    place = {value: position for position, value in enumerate(order)}
    return {name: rounded(HIGHEST * place[value] / (len(order) - 1)) for name, value in values.items()}


def linear(value: float, low: float, high: float) -> int:
    """A value of a known range as 0..10; what lies outside is taken for the end of it."""
    if low == high:
        raise ValueError(f"the range from {low:g} to {high:g} is empty")
    return clamped(HIGHEST * (value - low) / (high - low))


def clamped(value: float) -> int:
    return rounded(min(max(value, 0.0), float(HIGHEST)))


def rounded(value: float) -> int:
    """To the nearest integer, halves upward: one float in a reply would cost the scheduler the whole list."""
    return math.floor(value + 0.5)


def from_percent(means: NDArray[np.float64]) -> list[int]:
    """Scores of 0..100, as plugins give them, on the extender's scale."""
    tenths = np.floor(means / HIGHEST + 0.5)
    if len(tenths) and not (tenths.min() >= 0 and tenths.max() <= HIGHEST):
        log.warning(
            "Scores outside of the range are cut",
            range="0..100",
            lowest=float(means.min()),
            highest=float(means.max()),
        )
        tenths = np.clip(np.nan_to_num(tenths), 0, HIGHEST)
    scores: list[int] = tenths.astype(np.int64).tolist()
    return scores


class Effect:
    """Points that a score adds to a node's total, beside the most that plugins can add."""

    __slots__ = ("points", "points_of_plugins")

    def __init__(self, points: int, points_of_plugins: int) -> None:
        self.points = points
        self.points_of_plugins = points_of_plugins

    @property
    def decides(self) -> bool:
        """Whether it outweighs all plugins together, whatever they say."""
        return self.points > self.points_of_plugins

    def __str__(self) -> str:
        verdict = "more than all plugins together" if self.decides else "less than all plugins together"
        return f"{self.points} points, where plugins give up to {self.points_of_plugins}: {verdict}"


def effect(score: int, weight: int, *, plugin_weights: int = PLUGIN_WEIGHTS) -> Effect:
    """What a score comes to, with the weight that the extender has in the scheduler's configuration."""
    points = score * weight * HIGHEST
    return Effect(points, 100 * plugin_weights)


def weight_to_decide(difference: int = 1, *, plugin_weights: int = PLUGIN_WEIGHTS) -> int:
    """The least weight with which so great a difference between two scores outweighs all plugins."""
    return 100 * plugin_weights // (difference * HIGHEST) + 1
