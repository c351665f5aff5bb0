"""Standard functions and operators.

Upstream: github.com/google/cel-go/common/stdlib/standard.go
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from stowplan.cel.cost import (
    ITEM_WORK,
    CostTracker,
    by_both,
    by_first,
    by_product,
    by_regex,
    by_second,
    by_shorter,
    constant,
)
from stowplan.cel.library import Library
from stowplan.cel.regex import regex_for
from stowplan.cel.values import (
    MAX_INT,
    MIN_INT,
    CelError,
    Quantity,
    TypeValue,
    UInt,
    checked_int,
    checked_uint,
    compare,
    equal,
    is_among,
    type_name,
)

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_NUMBERS = ("int", "uint", "double")
_ORDERED = (*_NUMBERS, "bool", "string", "bytes", "timestamp", "duration")


def _declare_comparisons() -> None:
    tests: dict[str, Callable[[int, int], bool]] = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    pairs = [(kind, kind) for kind in _ORDERED] + [(a, b) for a in _NUMBERS for b in _NUMBERS if a != b]
    for symbol, test in tests.items():
        for one, other in pairs:
            cost = by_shorter if one in ("string", "bytes") else constant
            declare(f"_{symbol}_({one}, {other}) -> bool", _comparison(test), cost)


def _comparison(test: Callable[[int, int], bool]) -> Callable[[Any, Any], bool]:
    return lambda one, other: test(compare(one, other), 0)


_declare_comparisons()


def _equality_cost(args: Sequence[Any]) -> int:
    return 1 if isinstance(args[0], Quantity) else by_shorter(args)


declare("_==_(A, A) -> bool", equal, _equality_cost, metered=True)


@overload("_!=_(A, A) -> bool", cost=_equality_cost, metered=True)
def _unequal(tracker: CostTracker, one: Any, other: Any) -> bool:
    return not equal(tracker, one, other)


# The interpreter evaluates these, since not all of their arguments are evaluated. Declared for the checker.
for _signature in (
    "_?_:_(bool, A, A) -> A",
    "_[_](list(A), int) -> A",
    "_[_](map(A, B), A) -> B",
    "_[_](optional(list(V)), int) -> optional(V)",
    "_[_](optional(map(K, V)), K) -> optional(V)",
    "_[?_](list(V), int) -> optional(V)",
    "_[?_](optional(list(V)), int) -> optional(V)",
    "_[?_](map(K, V), K) -> optional(V)",
    "_[?_](optional(map(K, V)), K) -> optional(V)",
    "optional(V)::or(optional(V)) -> optional(V)",
    "optional(V)::orValue(V) -> V",
):
    declare(_signature, lambda *_: None)

declare("!_(bool) -> bool", operator.not_)
declare("-_(int) -> int", lambda value: checked_int(-value))
declare("-_(double) -> double", operator.neg)

declare("_+_(int, int) -> int", lambda a, b: checked_int(a + b))
declare("_+_(uint, uint) -> uint", lambda a, b: checked_uint(a + b))
declare("_+_(double, double) -> double", operator.add)
declare("_+_(string, string) -> string", operator.add, by_both)
declare("_+_(bytes, bytes) -> bytes", operator.add, by_both)
declare("_-_(int, int) -> int", lambda a, b: checked_int(a - b))
declare("_-_(uint, uint) -> uint", lambda a, b: checked_uint(a - b))
declare("_-_(double, double) -> double", operator.sub)
declare("_*_(int, int) -> int", lambda a, b: checked_int(a * b))
declare("_*_(uint, uint) -> uint", lambda a, b: checked_uint(a * b))
declare("_*_(double, double) -> double", operator.mul)


@overload("_+_(list(A), list(A)) -> list(A)", metered=True)
def _concatenate(tracker: CostTracker, one: list[Any], other: list[Any]) -> list[Any]:
    tracker.work(ITEM_WORK * (len(one) + len(other)))
    return one + other


@overload("_/_(int, int) -> int")
def _divide(a: int, b: int) -> int:
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return checked_int(quotient if (a < 0) == (b < 0) else -quotient)


@overload("_/_(uint, uint) -> uint")
def _divide_unsigned(a: int, b: int) -> UInt:
    if b == 0:
        raise CelError("division by zero")
    return UInt(a // b)


@overload("_/_(double, double) -> double")
def _divide_doubles(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


@overload("_%_(int, int) -> int")
def _modulo(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


@overload("_%_(uint, uint) -> uint")
def _modulo_unsigned(a: int, b: int) -> UInt:
    if b == 0:
        raise CelError("modulus by zero")
    return UInt(a % b)


@overload("@in(A, list(A)) -> bool", cost=by_second, metered=True)
def _in_list(tracker: CostTracker, value: Any, items: list[Any]) -> bool:
    return is_among(tracker, value, items)


@overload("@in(A, map(A, B)) -> bool")
def _in_map(key: Any, entries: dict[Any, Any]) -> bool:
    return isinstance(key, (str, int, float)) and key in entries


for _kind in ("string", "bytes", "list(A)", "map(A, B)"):
    declare(f"size({_kind}) -> int", len)
    declare(f"{_kind}::size() -> int", len)

declare("string::contains(string) -> bool", lambda text, part: part in text, by_product)
declare("string::startsWith(string) -> bool", str.startswith, by_first)
declare("string::endsWith(string) -> bool", str.endswith, by_first)


@overload("matches(string, string) -> bool", "string::matches(string) -> bool", cost=by_regex, metered=True)
def _matches(tracker: CostTracker, text: str, pattern: str) -> bool:
    return regex_for(tracker, text, pattern).search(text) is not None


declare("dyn(A) -> dyn", lambda value: value)
declare("type(A) -> type(A)", lambda value: TypeValue(type_name(value)))
for _kind in ("bool", "bytes", "double", "int", "string", "uint"):
    declare(f"{_kind}({_kind}) -> {_kind}", lambda value: value)

declare("bytes(string) -> bytes", str.encode, by_first)
declare("double(int) -> double", float)
declare("double(uint) -> double", float)
declare("int(uint) -> int", lambda value: checked_int(int(value)))
declare("uint(int) -> uint", checked_uint)
declare("string(bool) -> string", lambda value: "true" if value else "false")
declare("string(int) -> string", str)
declare("string(uint) -> string", lambda value: str(int(value)))

_MAX_DIGITS = 4300
"""Digits that Python converts; no 64-bit number has so many, unless they are zeroes."""
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


@overload("bool(string) -> bool")
def _to_bool(text: str) -> bool:
    if text not in _BOOLS:
        raise CelError("type conversion error from 'string' to 'bool'")
    return _BOOLS[text]


@overload("int(string) -> int")
def _to_int(text: str) -> int:
    return _parsed(text, "int", re.compile(r"[+-]?[0-9]+", re.ASCII), MIN_INT, MAX_INT)


@overload("uint(string) -> uint")
def _to_uint(text: str) -> UInt:
    return UInt(_parsed(text, "uint", re.compile(r"[0-9]+", re.ASCII), 0, 2**64 - 1))


def _parsed(text: str, kind: str, pattern: re.Pattern[str], low: int, high: int) -> int:
    value = int(text) if pattern.fullmatch(text) and len(text) <= _MAX_DIGITS else None
    if value is None or not low <= value <= high:
        raise CelError(f"type conversion error from 'string' to '{kind}'")
    return value


@overload("int(double) -> int")
def _double_to_int(value: float) -> int:
    if not -(2.0**63) < value < 2.0**63:
        raise CelError("integer overflow")
    return int(value)


@overload("uint(double) -> uint")
def _double_to_uint(value: float) -> UInt:
    if not 0 <= value < 2.0**64:
        raise CelError("unsigned integer overflow")
    return UInt(int(value))


@overload("double(string) -> double")
def _to_double(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is None or text != text.strip() or (math.isinf(value) and "inf" not in text.lower()):
        raise CelError("type conversion error from 'string' to 'double'")
    return value


@overload("string(double) -> string")
def _double_to_string(value: float) -> str:
    if value != value or value in (math.inf, -math.inf):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    shortest = next(text for digits in range(18) if float(text := f"{value:.{digits}e}") == value)
    exponent = int(shortest.partition("e")[2])
    return shortest if exponent < -4 or exponent >= 6 else repr(value).removesuffix(".0")


@overload("string(bytes) -> string", cost=by_first)
def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
