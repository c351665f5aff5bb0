"""Runtime values: Python's own types where they have CEL's semantics, classes otherwise.

Upstream: github.com/google/cel-go/common/types
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from stowplan.api.quantity import Exact

if TYPE_CHECKING:
    from stowplan.cel.cost import CostTracker

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class CelError(Exception):
    """An evaluation that failed; logical operators may absorb it."""


class EvaluationStoppedError(Exception):
    """An evaluation that reached a limit; nothing in the expression absorbs it."""


NO_OVERLOAD = "no such overload"


class UInt(int):
    """A uint."""


class Domains(dict[str, Any]):
    """Attributes or capacities by domain. A missing domain is an empty map."""


EMPTY_DOMAIN: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Quantity:
    amount: Exact


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version. Build metadata is not compared."""

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...] = ()

    def key(self) -> tuple[Any, ...]:
        """The sort key: numeric identifiers before alphanumeric ones, a release after its pre-releases."""
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.prerelease)
        return (*self.numbers, not self.prerelease, parts)


@dataclass(frozen=True, slots=True)
class DurationValue:
    nanos: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    nanos: int
    """Since the epoch, UTC."""


@dataclass(frozen=True, slots=True)
class TypeValue:
    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional value."""

    present: bool
    value: Any = None


NONE = Optional(False)

_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    DurationValue: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    Optional: "optional_type",
}


def register(python: type, name: str) -> None:
    """Register a class as the values of a type."""
    _TYPE_NAMES[python] = name


def type_name(value: Any) -> str:
    return _TYPE_NAMES[type(value)]


_ELEMENT_WORK, _ELEMENTS_WORK = 8, 64
"""Work of comparing an element, and of two values that have elements."""
_IDENTIFIER_WORK = 100
_COMPARED_CHARS = 64
"""Characters that are compared in a unit of work."""

_NUMBERS = frozenset((int, UInt, float))


def equal(tracker: CostTracker, one: Any, other: Any) -> bool:
    """CEL's equality: numbers of all types are comparable, other values only with their own type.

    The cost model has the size of the outer values. Elements are charged as work, since a short expression makes a
    value that has the same list as its element many times, on many levels.
    """
    kind, other_kind = type(one), type(other)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        return bool(one == other)
    if kind is list and other_kind is list:
        return len(one) == len(other) and _all_equal(tracker, one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and _all_equal(tracker, one.values(), map(other.get, one))
    if kind is not other_kind:
        return False
    if kind is Optional:
        return one.present == other.present and equal(tracker, one.value, other.value)
    if kind is Semver:
        a, b = semver_keys(tracker, one, other)
        return bool(a == b)
    if kind is str or kind is bytes:
        tracker.work(len(one) // _COMPARED_CHARS)
    return bool(one == other)


def semver_keys(tracker: CostTracker, one: Semver, other: Semver) -> tuple[Any, Any]:
    """The sort keys of two versions, charged by their identifiers."""
    tracker.work(_IDENTIFIER_WORK * (len(one.prerelease) + len(other.prerelease)))
    return one.key(), other.key()


def _all_equal(tracker: CostTracker, some: Collection[Any], others: Iterable[Any]) -> bool:
    tracker.work(_ELEMENTS_WORK + _ELEMENT_WORK * len(some))
    return all(map(equal, repeat(tracker), some, others))


def is_among(tracker: CostTracker, value: Any, items: list[Any]) -> bool:
    """Whether a value equals an item of a list."""
    return any(map(equal, repeat(tracker), repeat(value), items))


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1. Raises CelError if the types have no common order."""
    kind, other_kind = type(one), type(other)
    if kind is DurationValue or kind is Timestamp:
        if kind is not other_kind:
            raise CelError(NO_OVERLOAD)
        one, other = one.nanos, other.nanos
    elif kind in _NUMBERS and other_kind in _NUMBERS:
        if one != one or other != other:
            raise CelError("NaN values cannot be ordered")
    elif kind is not other_kind or kind not in (bool, str, bytes):
        raise CelError(NO_OVERLOAD)
    return int(one > other) - int(one < other)


def shown(value: Any) -> str:
    """A value in an error. Of lists, maps and optionals the type: their text may be far longer than they are."""
    if isinstance(value, bool):
        return str(value).lower()
    return type_name(value) if isinstance(value, (list, dict, Optional)) else str(value)


def size(value: Any) -> int:
    """The size of a value in the cost model; 1 for scalars."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if type(value) is Optional and value.present:
        return size(value.value)
    measure = getattr(value, "cost_size", None)
    return 1 if measure is None else int(measure)


def checked_int(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> UInt:
    if not 0 <= value <= MAX_UINT:
        raise CelError("unsigned integer overflow")
    return UInt(value)
