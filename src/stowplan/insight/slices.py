"""Work in slices: generators that yield between pieces of work, so that a scheduler can run them between cycles."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Yields between slices, returns the result."""


def timed(slices: Slices[T], clock: Callable[[], float]) -> Slices[tuple[T, float]]:
    """(the result, the time that its slices took together)."""
    seconds = 0.0
    while True:
        began = clock()
        try:
            next(slices)
        except StopIteration as end:
            return end.value, seconds + clock() - began
        seconds += clock() - began
        yield


def run(slices: Slices[T]) -> T:
    """All slices at once."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
