"""Runtime values: Python's own types where they have CEL's semantics, classes otherwise.

Upstream: github.com/google/cel-go/common/types
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stowplan.api.quantity import Exact

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


_NUMBERS = frozenset((int, UInt, float))


def equal(one: Any, other: Any) -> bool:
    """CEL's equality: numbers of all types are comparable, other values only with their own type."""
    kind, other_kind = type(one), type(other)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        return bool(one == other)
    if kind is list and other_kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(key in other and equal(item, other[key]) for key, item in one.items())
    if kind is not other_kind:
        return False
    if kind is Optional:
        return one.present == other.present and equal(one.value, other.value)
    if kind is Semver:
        return bool(one.key() == other.key())
    return bool(one == other)


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
