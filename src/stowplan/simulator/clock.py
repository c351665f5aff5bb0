"""Simulated time: seconds since 1970, in whole microseconds where something happens."""

from __future__ import annotations

from math import floor

EPOCH = 1_767_225_600.0
"""2026-01-01T00:00:00Z, the default start of simulated time."""

_MAX_ROUNDED_SECONDS = 1e15
"""Later times are not rounded: they are infinite, or beyond the precision of floats."""


class VirtualClock:
    """A clock that advances only when it is set."""

    __slots__ = ("now",)

    def __init__(self, now: float = EPOCH) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def to_microseconds(seconds: float) -> float:
    """The time, or the duration, rounded to microseconds. `round` takes six times as long."""
    return floor(seconds * 1e6 + 0.5) / 1e6 if seconds < _MAX_ROUNDED_SECONDS else seconds
