"""Declaring functions: a signature as one reads it, an implementation, and what a call costs.

    @library.overload("string::startsWith(string) -> bool", cost=by_first)
    def _starts_with(text: str, prefix: str) -> bool: ...

A type in front of two colons makes it a method. Single capitals are type parameters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from stowplan.cel.types import ANY, DYN, Type, parse_type
from stowplan.cel.values import size, type_name

Implementation: TypeAlias = Callable[..., Any]
Cost: TypeAlias = Callable[[Sequence[Any], Any], int]
"""What a call cost, from its arguments and its result."""

_TRAVERSAL = 0.1
_REGEX = 0.25
_SIGNATURE = re.compile(r"(?:(?P<target>[\w.()@, ]+?)::)?(?P<name>[^(]+)\((?P<args>.*)\) -> (?P<result>.+)")


def constant(_: Sequence[Any], __: Any) -> int:
    return 1


def by_first(args: Sequence[Any], _: Any) -> int:
    """One pass over the first argument."""
    return math.ceil(size(args[0]) * _TRAVERSAL)


def by_first_twice(args: Sequence[Any], _: Any) -> int:
    return math.ceil(size(args[0]) * 2 * _TRAVERSAL)


def by_result_twice(_: Sequence[Any], result: Any) -> int:
    return math.ceil(size(result) * 2 * _TRAVERSAL)


def by_both(args: Sequence[Any], _: Any) -> int:
    return math.ceil((size(args[0]) + size(args[1])) * _TRAVERSAL)


def by_shorter(args: Sequence[Any], _: Any) -> int:
    return math.ceil(min(size(args[0]), size(args[1])) * _TRAVERSAL)


def by_product(args: Sequence[Any], _: Any) -> int:
    return math.ceil(size(args[0]) * _TRAVERSAL) * math.ceil(size(args[1]) * _TRAVERSAL)


def by_regex(args: Sequence[Any], _: Any) -> int:
    return math.ceil((1 + size(args[0])) * _TRAVERSAL) * math.ceil(size(args[1]) * _REGEX)


def by_second(args: Sequence[Any], _: Any) -> int:
    return size(args[1])


def by_list(args: Sequence[Any], _: Any) -> int:
    """A pass over a list and the texts in it."""
    items = args[0]
    if isinstance(items, list):
        return sum(by_first((i,), None) if isinstance(i, (str, bytes)) else 1 for i in items)
    return by_first(args, None)


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function."""

    args: tuple[Type, ...]
    result: Type
    member: bool
    run: Implementation
    cost: Cost
    params: frozenset[str]

    def accepts(self, values: Sequence[Any]) -> bool:
        """Whether the kinds of the values are those of the signature; parts of lists and maps are not looked at."""
        return len(values) == len(self.args) and all(
            kind.is_param or kind in (DYN, ANY) or kind.name == type_name(value)
            for kind, value in zip(self.args, values, strict=True)
        )


class Library:
    """Functions by name."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Overload]] = {}

    def overload(self, *signatures: str, cost: Cost = constant) -> Callable[[Implementation], Implementation]:
        def declare(run: Implementation) -> Implementation:
            for signature in signatures:
                self.declare(signature, run, cost)
            return run

        return declare

    def declare(self, signature: str, run: Implementation, cost: Cost = constant) -> None:
        match = _SIGNATURE.fullmatch(signature)
        assert match is not None, signature
        target, name, args, result = match.group("target", "name", "args", "result")
        kinds = [parse_type(part) for part in _split(args)]
        if target:
            kinds.insert(0, parse_type(target))
        params = frozenset(p for kind in (*kinds, parse_type(result)) for p in _params(kind))
        declared = Overload(tuple(kinds), parse_type(result), bool(target), run, cost, params)
        self.functions.setdefault(name, []).append(declared)


def _split(args: str) -> list[str]:
    """The arguments of a signature, at commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(args):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(args[start:i])
            start = i + 1
    return [*parts, args[start:]] if args.strip() else []


def _params(kind: Type) -> set[str]:
    return {kind.name} if kind.is_param else {p for param in kind.params for p in _params(param)}
