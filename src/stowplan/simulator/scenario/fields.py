"""Checks of single fields of a scenario, with their paths."""

from __future__ import annotations

from stowplan.config.errors import Problems
from stowplan.simulator.scenario.quantities import seconds_of


def time_at(value: object, path: str, problems: Problems, *, positive: bool = False) -> float:
    """The time in a field; 1 if it is faulty."""
    if value is None:
        required(path, problems)
        return 1.0
    try:
        found = seconds_of(value)
    except ValueError as error:
        problems.add(path, str(error))
        return 1.0
    if found < 0 or (positive and not found):
        problems.add(path, "must be greater than 0" if positive else "must be 0 or more")
        return 1.0
    return found


def required(path: str, problems: Problems) -> None:
    problems.required(path)


def probability(value: float, path: str, problems: Problems) -> float:
    if not 0 <= value <= 1:
        problems.add(path, "must be between 0 and 1")
    return value
