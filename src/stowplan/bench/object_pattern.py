"""Objects generated from a pattern with blanks, filled in per kind of object and per object."""

import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

import msgspec


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers at even distances."""

    start: int
    count: int
    step: int = 1


Vary = dict[str, list[Any] | Range]
"""For each blank the values that it takes in turn."""


class ObjectPattern:
    """A pattern whose strings may hold `$blanks`.

    Kind number k fills a blank with the k-th of its values, from the start again when they run out; values of coprime
    numbers give many different kinds. A string that consists of one blank becomes the value itself, of any
    type. `$kind` is k. Objects of one kind still differ in `$number`, in `$suffix` (the number in six hexadecimal
    digits) and in `$node`.
    """

    def __init__(self, pattern: Mapping[str, Any], vary: Vary) -> None:
        self._pattern = pattern
        self._vary = {blank: _values(values) for blank, values in vary.items()}
        self._texts: dict[int, Template] = {}

    def kind(self, kind: int) -> Any:
        """The pattern of one kind, as plain data."""
        chosen = {blank: values[kind % len(values)] for blank, values in self._vary.items()}
        return _fill(self._pattern, chosen | {"kind": kind})

    def render(self, kind: int, number: int, node: str = "") -> bytes:
        """One object as JSON."""
        text = self._texts.get(kind)
        if text is None:
            text = self._texts[kind] = Template(json.dumps(self.kind(kind)))
        return text.substitute(number=number, suffix=f"{number:06x}", node=node).encode()


def overlay(base: Any, over: Any) -> Any:
    """One tree of objects laid over another: members are merged, anything else is replaced."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return base | {key: overlay(base.get(key), value) for key, value in over.items()}


def _values(values: list[Any] | Range) -> Sequence[Any]:
    if isinstance(values, Range):
        return range(values.start, values.start + values.count * values.step, values.step)
    return values


def _fill(value: Any, chosen: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith("$") and value[1:] in chosen:
            return chosen[value[1:]]
        return Template(value).safe_substitute(chosen)
    if isinstance(value, dict):
        return {key: _fill(member, chosen) for key, member in value.items()}
    if isinstance(value, list):
        return [_fill(item, chosen) for item in value]
    return value
