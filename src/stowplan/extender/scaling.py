"""Scores on the extender's scale of 0 to 10, and their weight beside the scheduler's plugins."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan import logs

MAX_EXTENDER_PRIORITY = 10
"""MaxExtenderPriority; the scheduler multiplies scores by the weight and, since v1.17, by ten."""

PLUGIN_WEIGHTS = 12
"""Sum of the weights of kube-scheduler's default score plugins, each of which gives 0 to 100."""

log = logs.get(__name__)


def min_max(values: Mapping[str, float]) -> dict[str, int]:
    """Linear from the minimum (0) to the maximum (10). Equal values all become 0."""
    low, high = min(values.values(), default=0), max(values.values(), default=0)
    if low == high:
        return dict.fromkeys(values, 0)
    return {name: linear(value, low, high) for name, value in values.items()}


def inverse(values: Mapping[str, float]) -> dict[str, int]:
    """As `min_max` with the minimum at 10: for costs and latencies."""
    return min_max({name: -value for name, value in values.items()})


def rank(values: Mapping[str, float]) -> dict[str, int]:
    """By order alone: the best 10, the worst 0, however far apart they are. Equal values are equal."""
    order = sorted(set(values.values()))
    if len(order) < 2:
        return dict.fromkeys(values, 0)
    place = {value: position for position, value in enumerate(order)}
    return {name: rounded(MAX_EXTENDER_PRIORITY * place[value] / (len(order) - 1)) for name, value in values.items()}


def linear(value: float, low: float, high: float) -> int:
    """A value of a known range as 0..10; values outside are clamped."""
    if low == high:
        raise ValueError(f"the range from {low:g} to {high:g} is empty")
    return clamped(MAX_EXTENDER_PRIORITY * (value - low) / (high - low))


def clamped(value: float) -> int:
    return rounded(min(max(value, 0.0), float(MAX_EXTENDER_PRIORITY)))


def rounded(value: float) -> int:
    """To the nearest integer, halves upward: one float in a reply would cost the scheduler the whole list."""
    return math.floor(value + 0.5)


def from_percent(means: NDArray[np.float64]) -> list[int]:
    """Scores of 0..100, as plugins give them, on the extender's scale."""
    tenths = np.floor(means / MAX_EXTENDER_PRIORITY + 0.5)
    if len(tenths) and not (tenths.min() >= 0 and tenths.max() <= MAX_EXTENDER_PRIORITY):
        log.warning(
            "Scores outside of the range are cut",
            range="0..100",
            lowest=float(means.min()),
            highest=float(means.max()),
        )
        tenths = np.clip(np.nan_to_num(tenths), 0, MAX_EXTENDER_PRIORITY)
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
        """Whether the extender outweighs all plugins together."""
        return self.points > self.points_of_plugins

    def __str__(self) -> str:
        verdict = "more than all plugins together" if self.decides else "less than all plugins together"
        return f"{self.points} points, where plugins give up to {self.points_of_plugins}: {verdict}"


def effect(score: int, weight: int, *, plugin_weights: int = PLUGIN_WEIGHTS) -> Effect:
    """A score's contribution to the total, with the extender's weight in the scheduler's configuration."""
    points = score * weight * MAX_EXTENDER_PRIORITY
    return Effect(points, 100 * plugin_weights)


def weight_to_decide(difference: int = 1, *, plugin_weights: int = PLUGIN_WEIGHTS) -> int:
    """The least weight with which so great a difference between two scores outweighs all plugins."""
    return 100 * plugin_weights // (difference * MAX_EXTENDER_PRIORITY) + 1
