"""Function libraries: a signature, an implementation and the cost of a call.

    @library.overload("string::startsWith(string) -> bool", cost=by_first)
    def _starts_with(text: str, prefix: str) -> bool: ...

A type in front of two colons makes it a method. Single capitals are type parameters. A metered implementation takes
the evaluation's CostTracker as its first argument, and charges the size of its result before making it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from stowplan.cel.cost import Cost, CostTracker, constant
from stowplan.cel.types import ANY, DYN, Type, parse_type
from stowplan.cel.values import type_name

Implementation: TypeAlias = Callable[..., Any]

_SIGNATURE = re.compile(r"(?:(?P<target>[\w.()@, ]+?)::)?(?P<name>[^(]+)\((?P<args>.*)\) -> (?P<result>.+)")


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function."""

    args: tuple[Type, ...]
    result: Type
    member: bool
    implementation: Implementation
    cost: Cost
    metered: bool
    work: Cost | None
    """Work of a call from its arguments, where the cost model charges less than the call takes."""
    params: frozenset[str]

    def call(self, tracker: CostTracker, values: Sequence[Any]) -> Any:
        """Charge the call and run it."""
        tracker.spend(self.cost(values))
        if self.work is not None:
            tracker.work(self.work(values))
        return self.implementation(tracker, *values) if self.metered else self.implementation(*values)

    def accepts(self, values: Sequence[Any]) -> bool:
        """Whether the values have the types of the signature; elements of lists and maps are not checked."""
        return len(values) == len(self.args) and all(
            kind.is_param or kind in (DYN, ANY) or kind.name == type_name(value)
            for kind, value in zip(self.args, values, strict=True)
        )


class Library:
    """Overloads by function name."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Overload]] = {}

    def overload(
        self, *signatures: str, cost: Cost = constant, work: Cost | None = None, metered: bool = False
    ) -> Callable[[Implementation], Implementation]:
        def declare(implementation: Implementation) -> Implementation:
            for signature in signatures:
                self.declare(signature, implementation, cost, work=work, metered=metered)
            return implementation

        return declare

    def declare(
        self,
        signature: str,
        implementation: Implementation,
        cost: Cost = constant,
        *,
        work: Cost | None = None,
        metered: bool = False,
    ) -> None:
        match = _SIGNATURE.fullmatch(signature)
        assert match is not None, signature
        target, name, args, result = match.group("target", "name", "args", "result")
        kinds = [parse_type(part) for part in _split(args)]
        if target:
            kinds.insert(0, parse_type(target))
        params = frozenset(p for kind in (*kinds, parse_type(result)) for p in _params(kind))
        self.functions.setdefault(name, []).append(
            Overload(tuple(kinds), parse_type(result), bool(target), implementation, cost, metered, work, params)
        )


def _split(args: str) -> list[str]:
    """The arguments of a signature, split at commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(args):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(args[start:i])
            start = i + 1
    return [*parts, args[start:]] if args.strip() else []


def _params(kind: Type) -> set[str]:
    return {kind.name} if kind.is_param else {p for param in kind.params for p in _params(param)}
