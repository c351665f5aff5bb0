"""Checks of single fields of a scenario, with their paths."""

from __future__ import annotations

from typing import Any

from stowplan import api
from stowplan.api.fields import find_type, unknown_fields
from stowplan.api.validation import validate
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import suggestion
from stowplan.simulator.scenario.quantities import MAX_OBJECTS, seconds_of

MIN_INTERVAL_SECONDS = 0.001
"""Of events that are repeated: with shorter intervals simulated time hardly moves."""


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
    if positive and found < MIN_INTERVAL_SECONDS:
        problems.add(path, "must be at least 1ms")
        return 1.0
    return found


def object_count(value: int, path: str, problems: Problems, least: int = 0) -> int:
    """A number of nodes, pods or users; the smallest one if it is faulty."""
    if least <= value <= MAX_OBJECTS:
        return value
    problems.add(path, f"must be {least} or more" if value < least else f"must be at most {MAX_OBJECTS:,}")
    return least


def required(path: str, problems: Problems) -> None:
    problems.required(path)


def probability(value: float, path: str, problems: Problems) -> float:
    if not 0 <= value <= 1:
        problems.add(path, "must be between 0 and 1")
    return value


def check_object(kind: api.Kind, document: dict[str, Any], item: Any, path: str, problems: Problems) -> None:
    """Add the faults of a manifest, as for `simulate`: values, and fields that Kubernetes does not know. A template
    needs no name."""
    for fault in validate(kind.name, item):
        field, _, text = fault.removeprefix("$").partition(": ")
        if field != ".metadata.name" or item.metadata.name:
            problems.add(path + field, text)
    known = find_type(kind.name, str(document.get("apiVersion") or kind.api_version))
    for field, names in [] if known is None else unknown_fields(document, known):
        problems.add(f"{path}.{field}", f"unknown field{suggestion(field.rpartition('.')[2], names)}")
