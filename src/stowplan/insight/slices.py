"""Work in slices: generators that yield between pieces of work, so that a scheduler can run them between cycles."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Yields between slices, returns the result."""


def run(slices: Slices[T]) -> T:
    """All slices at once."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
