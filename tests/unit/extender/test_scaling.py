"""Scores on the scheduler's scale."""

import numpy as np
import pytest

from stowplan.extender.scaling import (
    effect,
    from_percent,
    inverse,
    linear,
    min_max,
    rank,
    weight_to_decide,
)


def test_ranges_are_stretched() -> None:
    assert min_max({"a": 1.5, "b": 2.0, "c": 2.5}) == {"a": 0, "b": 5, "c": 10}
    assert inverse({"a": 1.5, "b": 2.0, "c": 2.5}) == {"a": 10, "b": 5, "c": 0}
    assert min_max({"a": 3, "b": 3}) == {"a": 0, "b": 0}
    assert min_max({}) == inverse({}) == rank({}) == {}


def test_ranks_do_not_mind_distances() -> None:
    assert rank({"a": 1, "b": 2, "c": 1e9, "d": 2}) == {"a": 0, "b": 5, "c": 10, "d": 5}
    assert rank({"a": 1}) == {"a": 0}


@pytest.mark.parametrize(("value", "score"), [(-5, 0), (0, 0), (24, 2), (25, 3), (100, 10), (1000, 10)])
def test_a_known_range(value: float, score: int) -> None:
    assert linear(value, 0, 100) == score
    with pytest.raises(ValueError, match="empty"):
        linear(value, 3, 3)


def test_what_lies_outside_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    assert from_percent(np.array([-20.0, 44.9, 45.0, 250.0])) == [0, 4, 5, 10]
    assert "are cut" in caplog.text
    assert from_percent(np.array([np.nan, 50.0])) == [0, 5]
    assert from_percent(np.zeros(0)) == []


def test_what_a_score_is_worth() -> None:
    assert effect(10, 1).points == 100
    assert not effect(10, 12).decides
    assert effect(10, 13).decides
    assert str(effect(10, 13)) == "1300 points, where plugins give up to 1200: more than all plugins together"
    assert weight_to_decide(10) == 13
    assert weight_to_decide(1) == 121
