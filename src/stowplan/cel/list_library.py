"""Functions on lists, sets and optionals.

Upstream: github.com/google/cel-go/ext/lists.go, github.com/google/cel-go/ext/sets.go,
k8s.io/apiserver/pkg/cel/library/lists.go
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key, reduce
from itertools import pairwise
from typing import Any

from stowplan.cel.cost import ITEM_WORK, CostTracker, by_list, charge_sort
from stowplan.cel.library import Library
from stowplan.cel.values import (
    NONE,
    CelError,
    DurationValue,
    Optional,
    UInt,
    checked_int,
    checked_uint,
    compare,
    equal,
    is_among,
    size,
)

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE = ("int", "uint", "double", "duration")
_MAX_ATTRIBUTE_VALUES = 48
"""Values of a list attribute."""


def _new_list(factor: float, count: int) -> int:
    """The cost of a new list."""
    return int(count * factor) + 11


def _self_compare(args: Sequence[Any]) -> int:
    items = args[0]
    text = bool(items) and isinstance(items[0], (str, bytes))
    return _new_list(2.1 if text else 2.0, len(items) ** 2)


def _by_length(args: Sequence[Any]) -> int:
    return _new_list(1, len(args[0]))


def _by_range(args: Sequence[Any]) -> int:
    return _new_list(1, max(args[0], 0))


def _by_slice(args: Sequence[Any]) -> int:
    items, start, end = args
    return _new_list(1, min(max(end - start, 0), len(items)))


def _extreme(name: str, sign: int) -> Any:
    def pick(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return reduce(lambda best, item: item if compare(best, item) == sign else best, items)

    return pick


def _is_sorted(items: list[Any]) -> bool:
    return all(compare(one, other) <= 0 for one, other in pairwise(items))


def _sum(items: list[Any]) -> Any:
    if items and isinstance(items[0], DurationValue):
        return DurationValue(checked_int(sum(item.nanos for item in items)))
    total = sum(items)
    if isinstance(total, float):
        return total
    return checked_uint(total) if items and isinstance(items[0], UInt) else checked_int(total)


def _sort(tracker: CostTracker, items: list[Any]) -> list[Any]:
    charge_sort(tracker, items)
    if len({type(item) for item in items}) > 1:
        raise CelError("list elements must have the same type")
    return sorted(items, key=cmp_to_key(compare))


for _kind in _COMPARABLE:
    declare(f"list({_kind})::isSorted() -> bool", _is_sorted, by_list)
    declare(f"list({_kind})::min() -> {_kind}", _extreme("min", 1), by_list)
    declare(f"list({_kind})::max() -> {_kind}", _extreme("max", -1), by_list)
    declare(f"list({_kind})::sort() -> list({_kind})", _sort, _self_compare, metered=True)
for _kind in _SUMMABLE:
    declare(f"list({_kind})::sum() -> {_kind}", _sum, by_list)


@overload("list(A)::indexOf(A) -> int", cost=by_list, metered=True)
def _index_of(tracker: CostTracker, items: list[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(tracker, item, wanted)), -1)


@overload("list(A)::lastIndexOf(A) -> int", cost=by_list, metered=True)
def _last_index_of(tracker: CostTracker, items: list[Any], wanted: Any) -> int:
    return next((i for i in reversed(range(len(items))) if equal(tracker, items[i], wanted)), -1)


@overload("list(T)::slice(int, int) -> list(T)", cost=_by_slice)
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    refused = f"cannot slice({start}, {end}),"
    if start < 0 or end < 0:
        raise CelError(f"{refused} negative indexes not supported")
    if start > end:
        raise CelError(f"{refused} start index must be less than or equal to end index")
    if len(items) < end:
        raise CelError(f"{refused} list is length {len(items)}")
    return items[start:end]


def _by_depth(args: Sequence[Any]) -> int:
    return _new_list(args[1] if len(args) > 1 else 1, len(args[0]))


@overload("list(list(T))::flatten() -> list(T)", "list(dyn)::flatten(int) -> list(dyn)", cost=_by_depth, metered=True)
def _flatten(tracker: CostTracker, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    tracker.work(ITEM_WORK * len(items))
    tracker.check_time()
    out: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth:
            out += _flatten(tracker, item, depth - 1)
        else:
            out.append(item)
    return out


declare("lists.range(int) -> list(int)", lambda count: list(range(count)), _by_range)
declare("list(T)::reverse() -> list(T)", lambda items: items[::-1], _by_length)


@overload("list(T)::distinct() -> list(T)", cost=_self_compare, metered=True)
def _distinct(tracker: CostTracker, items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        if not is_among(tracker, item, out):
            out.append(item)
    return out


declare("list(V)::first() -> optional(V)", lambda items: Optional(True, items[0]) if items else NONE)
declare("list(V)::last() -> optional(V)", lambda items: Optional(True, items[-1]) if items else NONE)


def _contains_all(tracker: CostTracker, items: list[Any], others: list[Any]) -> bool:
    return all(is_among(tracker, other, items) for other in others)


def _intersects(tracker: CostTracker, one: list[Any], other: list[Any]) -> bool:
    return any(is_among(tracker, item, other) for item in one)


def _equivalent(tracker: CostTracker, one: list[Any], other: list[Any]) -> bool:
    return _contains_all(tracker, one, other) and _contains_all(tracker, other, one)


def _pairs(factor: int) -> Any:
    return lambda args: 1 + factor * size(args[0]) * size(args[1])


declare("sets.contains(list(T), list(T)) -> bool", _contains_all, _pairs(1), metered=True)
declare("sets.intersects(list(T), list(T)) -> bool", _intersects, _pairs(1), metered=True)
declare("sets.equivalent(list(T), list(T)) -> bool", _equivalent, _pairs(2), metered=True)

declare("optional.of(V) -> optional(V)", lambda value: Optional(True, value))
declare("optional.none() -> optional(V)", lambda: NONE)
declare("optional(V)::hasValue() -> bool", lambda value: value.present)


@overload("optional.ofNonZeroValue(V) -> optional(V)")
def _of_non_zero(value: Any) -> Optional:
    empty = value is None or (isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value)
    return NONE if empty or value == DurationValue(0) else Optional(True, value)


@overload("optional(V)::value() -> V")
def _value(value: Optional) -> Any:
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


@overload("optional.unwrap(list(optional(V))) -> list(V)", "list(optional(V))::unwrapOpt() -> list(V)", metered=True)
def _unwrap(tracker: CostTracker, items: list[Optional]) -> list[Any]:
    tracker.work(ITEM_WORK * len(items))
    return [item.value for item in items if item.present]


@overload("dyn::includes(dyn) -> bool", metered=True)
def _includes(tracker: CostTracker, value: Any, wanted: Any) -> bool:
    """Whether a value equals the wanted one, or a list has an equal element."""
    if not isinstance(value, list):
        return equal(tracker, value, wanted)
    if is_among(tracker, wanted, value[:_MAX_ATTRIBUTE_VALUES]):
        return True
    if len(value) > _MAX_ATTRIBUTE_VALUES:
        raise CelError(f"'includes' function cannot be applied to lists longer than {_MAX_ATTRIBUTE_VALUES} values")
    return False
