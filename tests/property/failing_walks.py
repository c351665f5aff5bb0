"""The problems of a walk, and the shortest walk with problems."""

from __future__ import annotations

from collections.abc import Callable

from tests.property.engine_walk import EngineWalk, Step


def problem(walked: list[Step], make: Callable[[], EngineWalk]) -> str:
    """The problems of a walk; empty if there are none."""
    walk = make()
    try:
        for step in walked:
            walk.take(step)
        walk.come_to_rest()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "; ".join(walk.problems())


def shortened(walked: list[Step], make: Callable[[], EngineWalk]) -> list[Step]:
    """The walk without the steps that its problems do not need."""
    size = len(walked) // 2
    while size:
        start = 0
        while start < len(walked):
            without = walked[:start] + walked[start + size :]
            if problem(without, make):
                walked = without
            else:
                start += size
        size //= 2
    return walked
