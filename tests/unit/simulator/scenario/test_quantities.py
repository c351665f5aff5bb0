from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from stowplan.config.errors import Problems
from stowplan.simulator.scenario.quantities import number_of, quantity, rate_of, seconds_of, time_text
from stowplan.simulator.streams import RandomStream, RandomStreams


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("8h30m", 30600), ("2d", 172800), (5, 5), (0.5, 0.5), ("250ms", 0.25), ("1w", 604800)],
)
def test_times(text: object, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "10x", "m10", "1h 5m", True, None, math.inf, []])
def test_other_values_are_no_times(text: object) -> None:
    with pytest.raises(ValueError, match="expected a time"):
        seconds_of(text)


def test_rates() -> None:
    assert rate_of("36/h") == 0.01
    for wrong in ("40", "40/x", "-1/s", 40, "x/s"):
        with pytest.raises(ValueError, match="expected a rate"):
            rate_of(wrong)


def test_times_for_people() -> None:
    assert [time_text(value) for value in (0, 12.34, 125, 3900, 90000, 400000, -125)] == [
        "0s", "12.3s", "2m05s", "1h05m", "25h00m", "4d15h", "-2m05s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "mean"),
    [
        ({"uniform": ["1m", "3m"]}, 120),
        ({"exponential": {"mean": "1m"}}, 60),
        ({"lognormal": {"median": 60, "sigma": 0.5}}, 60 * math.exp(0.125)),
        ({"pareto": {"min": 60, "alpha": 3}}, 90),
        ({"weibull": {"scale": 60, "shape": 2}}, 60 * math.gamma(1.5)),
        ({"normal": {"mean": 60, "sd": 5}}, 60),
        ({"choice": {"60": 1, "2m": 3}}, 105),
        (60, 60),
    ],
)
def test_means_of_draws(given: Any, mean: float) -> None:
    problems = Problems()
    found = quantity(given, "$", problems)
    stream = RandomStream(1, "test", "draw")
    draws = [found.draw(stream) for _ in range(40_000)]
    assert problems.errors == []
    assert found.mean == pytest.approx(mean)
    assert sum(draws) / len(draws) == pytest.approx(mean, rel=0.02)


def test_bounds_and_whole_numbers() -> None:
    stream = RandomStream(1, "test", "draw")
    bounded = quantity({"exponential": {"mean": 60}, "min": 50, "max": 70}, "$", Problems())
    assert {50.0, 70.0} < {bounded.draw(stream) for _ in range(100)}
    whole = quantity({"uniform": [1, 3]}, "$", Problems(), number_of)
    assert {whole.draw(stream) for _ in range(100)} == {1, 2, 3}


def test_values_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,seconds\na,10\nb,2m\nc,30\n")
    problems = Problems()
    found = quantity({"empirical": {"file": "d.csv", "column": "seconds"}}, "$", problems, folder=tmp_path)
    stream = RandomStream(1, "test", "draw")
    assert not problems.errors
    assert {found.draw(stream) for _ in range(100)} == {10, 30, 120}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"exponentail": {"mean": 1}}, '$.d.exponentail: unknown distribution (did you mean "exponential"?)'),
        ({"exponential": {}}, "$.d.exponential.mean: Required value"),
        ({"exponential": {"mean": 0}}, "$.d.exponential.mean: must be greater than 0"),
        ({"exponential": {"mean": 1, "x": 2}}, "$.d.exponential.x: unknown field"),
        ({"uniform": [2, 1]}, "$.d.uniform: the first value is larger than the second"),
        ({"choice": {"1s": -1}}, "$.d.choice.1s: expected a weight of 0 or more"),
        ({"empirical": {"file": "none.csv"}}, "$.d.empirical.file: none.csv: No such file or directory"),
        ("-1h30m", "$.d: must be 0 or more"),
        ("long", "$.d: expected a time such as 90s, 10m, 8h30m or 2d, or a number of seconds"),
        ({"uniform": [1, 2], "exponential": {"mean": 1}}, "$.d: expected one distribution of uniform"),
        ({"uniform": [1, 2], "min": 3, "max": 1}, "$.d: min is larger than max"),
    ],
)
def test_faults_have_a_path(given: Any, line: str) -> None:
    problems = Problems()
    quantity(given, "$.d", problems)
    (found,) = problems.errors
    assert f"{found.path}: {found.message}".startswith(line)


def test_streams_are_independent_of_each_other_and_stable() -> None:
    first = RandomStreams(7)
    drawn = [first.of("workloads.a", "arrivals").uniform() for _ in range(3)]
    second = RandomStreams(7)
    second.of("workloads.b", "arrivals").uniform()
    assert [second.of("workloads.a", "arrivals").uniform() for _ in range(3)] == drawn
    assert drawn == [0.6805718699422356, 0.916507129003481, 0.06471701138924069]
    assert RandomStreams(8).of("workloads.a", "arrivals").uniform() != drawn[0]
    assert first.keyed("p", "k", "x") == second.keyed("p", "k", "x") != second.keyed("p", "k", "y")
