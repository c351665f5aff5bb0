"""Weights at which another node wins: exact, by trying the weight and the one before it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stowplan.insight.points import Points
from stowplan.insight.slices import run
from stowplan.insight.thresholds import other_winners, winning_weights, without_plugins
from stowplan.runtime.decide.scoring import PluginScores


def random_points(seed: int) -> Points:
    rng = random.Random(seed)
    count = rng.randint(2, 7)
    plugins = []
    for number in range(rng.randint(1, 4)):
        scores = np.array([rng.randint(0, 100) for _ in range(count)], dtype=np.int64)
        plugins.append(PluginScores(f"P{number}", rng.randint(1, 6), scores, scores))
    total = sum((each.weight * each.normalized for each in plugins), np.zeros(count, dtype=np.int64))
    return Points([f"n{number}" for number in range(count)], total, plugins)


def best_at(points: Points, plugin: str, weight: int) -> set[str]:
    scores = next(each for each in points.plugins if each.plugin == plugin)
    total = points.total + (weight - scores.weight) * scores.normalized
    return {points.names[each] for each in np.flatnonzero(total == total.max())}


@pytest.mark.parametrize("seed", range(40))
def test_another_node_wins_at_the_threshold_and_none_before_it(seed: int) -> None:
    points = random_points(seed)
    if len(points.best()) > 1:
        return
    winner = points.best()[0]
    for each in run(other_winners(points, winner)):
        weight = each.at_least or each.at_most
        at = best_at(points, each.plugin, weight)
        assert each.wins in at
        assert each.draws == (points.names[winner] in at)
        nearer = range(each.weight, weight, 1 if weight > each.weight else -1)
        assert all(best_at(points, each.plugin, other) == {points.names[winner]} for other in nearer)


@pytest.mark.parametrize("seed", range(40))
def test_plugins_without_a_threshold_have_none(seed: int) -> None:
    points = random_points(seed)
    if len(points.best()) > 1:
        return
    winner = points.best()[0]
    found = {(each.plugin, bool(each.at_least)) for each in run(other_winners(points, winner))}
    for scores in points.plugins:
        if (scores.plugin, True) not in found:
            assert best_at(points, scores.plugin, 100_000) == {points.names[winner]}
        if (scores.plugin, False) not in found:
            for weight in range(1, scores.weight):
                assert best_at(points, scores.plugin, weight) == {points.names[winner]}


@pytest.mark.parametrize("seed", range(40))
def test_weights_at_which_one_node_wins_are_all_of_them(seed: int) -> None:
    points = random_points(seed)
    for position, name in enumerate(points.names):
        if position in points.best():
            continue
        found = {each.plugin: each for each in winning_weights(points, position)}
        for scores in points.plugins:
            wins = {weight for weight in range(1, 60) if name in best_at(points, scores.plugin, weight)}
            each = found.get(scores.plugin)
            if each is None:
                assert not wins
            else:
                low, high = each.at_least or 1, each.at_most or 59
                assert wins == set(range(low, min(high, 59) + 1))


def test_without_a_plugin_the_rest_decides() -> None:
    first = PluginScores("First", 2, np.array([100, 0]), np.array([100, 0]))
    other = PluginScores("Other", 1, np.array([10, 60]), np.array([10, 60]))
    points = Points(["a", "b"], np.array([210, 60]), [first, other])
    assert [(each.plugin, each.wins, each.by) for each in run(without_plugins(points))] == [
        ("First", "b", 50),
        ("Other", "a", 200),
    ]
