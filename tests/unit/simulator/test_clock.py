"""Simulated time."""

import math

import pytest

from stowplan.simulator.clock import EPOCH, to_microseconds


@pytest.mark.parametrize(
    ("seconds", "rounded"),
    [
        (0.0, 0.0),
        (1.0000004, 1.0),
        (1.0000006, 1.000001),
        (-1.0000006, -1.000001),
        (EPOCH + 0.1 + 0.2, EPOCH + 0.3),
        (math.inf, math.inf),
    ],
)
def test_rounds_to_microseconds(seconds: float, rounded: float) -> None:
    assert to_microseconds(seconds) == rounded


def test_what_is_rounded_stays_and_is_a_decimal_number_of_six_places() -> None:
    for number in range(1, 5000):
        time = EPOCH + number * math.pi
        rounded = to_microseconds(time)
        assert abs(rounded - time) < 1e-6
        assert rounded == to_microseconds(rounded) == float(f"{rounded:.6f}")
