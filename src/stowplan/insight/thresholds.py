"""Exact weights at which another node wins, and the winner without each plugin.

Normalised scores do not depend on weights, so a node's total is a linear function of each weight. Thresholds are found
among integers of at least 1, since weights are positive integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.explanation import WeightThreshold, WithoutPlugin
from stowplan.insight.points import Points
from stowplan.insight.slices import Slices
from stowplan.runtime.decide.scoring import PluginScores

_Integers = NDArray[np.int64]


def other_winners(points: Points, winner: int) -> Slices[tuple[WeightThreshold, ...]]:
    """For each plugin, the nearest weights above and below the configured one at which another node wins or draws
    level."""
    found = []
    for scores in points.plugins:
        weights = _nearest_above(points, scores, winner), _nearest_below(points, scores, winner)
        found += [_threshold(points, scores, winner, weight) for weight in weights if weight]
        yield
    return tuple(sorted(found, key=lambda each: (_factor(each), each.plugin)))


def winning_weights(points: Points, position: int) -> tuple[WeightThreshold, ...]:
    """For each plugin, the weights at which one node wins or draws level with the best."""
    found = []
    for scores in points.plugins:
        interval = _interval(points, scores, position)
        if interval is not None and not interval[0] <= scores.weight <= (interval[1] or scores.weight):
            low, high = interval
            raised = low > scores.weight
            nearest = low if raised else high
            totals = _totals_at(points, scores, nearest)
            found.append(
                WeightThreshold(
                    plugin=scores.plugin,
                    weight=scores.weight,
                    wins=points.names[position],
                    at_least=low if low > 1 else 0,
                    at_most=high,
                    draws=int(np.count_nonzero(totals == totals[position])) > 1,
                )
            )
    return tuple(sorted(found, key=lambda each: (_factor(each), each.plugin)))


def without_plugins(points: Points) -> Slices[tuple[WithoutPlugin, ...]]:
    """The winner without the points of each plugin that prefers some nodes."""
    found = []
    for scores in points.plugins:
        if len(points.names) > 1 and np.ptp(scores.normalized):
            rest = points.total - scores.weight * scores.normalized
            second, top = np.partition(rest, len(rest) - 2)[-2:].tolist()
            by = top - second
            # Among equal nodes the present winner is named, if it is one of them.
            best = np.flatnonzero(rest == top)
            best = best[points.total[best] == points.total[best].max()]
            first = min(best.tolist(), key=points.names.__getitem__)
            found.append(WithoutPlugin(plugin=scores.plugin, wins=points.names[first], by=by))
            yield
    return tuple(found)


def _factor(threshold: WeightThreshold) -> float:
    """How far the threshold is from the configured weight, as a factor."""
    weight = threshold.at_least or threshold.at_most
    return max(weight / threshold.weight, threshold.weight / weight)


def _totals_at(points: Points, scores: PluginScores, weight: int) -> _Integers:
    totals: _Integers = points.total + (weight - scores.weight) * scores.normalized.astype(np.int64)
    return totals


def _gaps(points: Points, scores: PluginScores, position: int) -> tuple[_Integers, _Integers]:
    """By node: (points ahead of the node, normalised score of the node minus that of the position)."""
    normalized = scores.normalized.astype(np.int64)
    ahead: _Integers = points.total[position] - points.total
    return ahead, normalized - normalized[position]


def _nearest_above(points: Points, scores: PluginScores, winner: int) -> int:
    ahead, gain = _gaps(points, scores, winner)
    nodes = gain > 0
    if not nodes.any():
        return 0
    return scores.weight + int(np.maximum(1, -(-ahead[nodes] // gain[nodes])).min())


def _nearest_below(points: Points, scores: PluginScores, winner: int) -> int:
    """0 if there is none of at least 1."""
    ahead, gain = _gaps(points, scores, winner)
    nodes = gain < 0
    if not nodes.any():
        return 0
    weight = scores.weight - int(np.maximum(1, -(ahead[nodes] // gain[nodes])).min())
    return max(weight, 0)


def _threshold(points: Points, scores: PluginScores, winner: int, weight: int) -> WeightThreshold:
    totals = _totals_at(points, scores, weight)
    gain = (scores.normalized.astype(np.int64) - int(scores.normalized[winner])) * (1 if weight > scores.weight else -1)
    others = [each for each in np.flatnonzero(totals == totals.max()).tolist() if each != winner]
    wins = min(others, key=lambda each: (-int(gain[each]), points.names[each]))
    return WeightThreshold(
        plugin=scores.plugin,
        weight=scores.weight,
        wins=points.names[wins],
        at_least=weight if weight > scores.weight else 0,
        at_most=weight if weight < scores.weight else 0,
        draws=bool(totals[wins] == totals[winner]),
    )


def _interval(points: Points, scores: PluginScores, position: int) -> tuple[int, int] | None:
    """(lowest, highest) weight at which the node has the highest total; highest 0 if there is no limit."""
    ahead, gain = _gaps(points, scores, position)
    if (ahead[gain == 0] < 0).any():
        return None
    low, high = 1, 0
    # ahead - change * gain >= 0 must hold for every node.
    better, worse = gain > 0, gain < 0
    if worse.any():
        low = max(low, scores.weight + int((-(ahead[worse] // -gain[worse])).max()))
    if better.any():
        high = scores.weight + int((ahead[better] // gain[better]).min())
        if high < low:
            return None
    return low, high
