"""Static types and assignability.

Upstream: github.com/google/cel-go/common/types/types.go, github.com/google/cel-go/checker/types.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Type(NamedTuple):
    """A type with its parameters. Type parameters are one capital, or begin with an underscore."""

    name: str
    params: tuple[Type, ...] = ()

    @property
    def is_param(self) -> bool:
        return self.name[0] == "_" or (len(self.name) == 1 and self.name.isupper())

    def __str__(self) -> str:
        shown = _SHOWN.get(self.name, self.name)
        return f"{shown}({', '.join(map(str, self.params))})" if self.params else shown

    def declared(self) -> str:
        """The declared name, which some error messages have."""
        name = _DECLARED.get(self.name, self.name)
        return f"{name}({', '.join(p.declared() for p in self.params)})" if self.params else name


BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null_type")
DURATION, TIMESTAMP = Type("google.protobuf.Duration"), Type("google.protobuf.Timestamp")
DYN, ANY, ERROR = Type("dyn"), Type("any"), Type("!error!")
QUANTITY, SEMVER = Type("kubernetes.Quantity"), Type("kubernetes.Semver")
DEVICE = Type("kubernetes.DRADevice")

WILD = frozenset((DYN, ANY))
_SHOWN = {NULL.name: "null", DURATION.name: "duration", TIMESTAMP.name: "timestamp"}
_DECLARED = {ANY.name: "google.protobuf.Any"}
_NULLABLE = frozenset((DURATION.name, TIMESTAMP.name, ANY.name, "optional_type"))

MAX_TYPE_STEPS = 500_000
"""Types and their parameters that the checks of one expression look at. Forty maps in each other, each with the same
map as its key and its value, are a type of a million million parameters."""
MAX_TYPE_PARTS = 10_000


class TypeLimitError(Exception):
    """An expression with types that are too large to check."""


class Bindings(dict[str, Type]):
    """Type parameters and the types that they are bound to. A copy counts its steps together with the original."""

    __slots__ = ("_steps",)
    _steps: list[int]

    def __init__(self, of: Mapping[str, Type] | None = None) -> None:
        super().__init__(of or {})
        self._steps = of._steps if isinstance(of, Bindings) else [0]

    def step(self) -> None:
        self._steps[0] += 1
        if self._steps[0] > MAX_TYPE_STEPS:
            raise TypeLimitError

    def check_size(self, kind: Type) -> None:
        """Raise TypeLimitError if a type has too many parts to be compared, copied or shown."""
        parts = [kind]
        for found in parts:
            self.step()
            parts += found.params
            if len(parts) > MAX_TYPE_PARTS:
                raise TypeLimitError


def list_of(element: Type) -> Type:
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def parse_type(text: str) -> Type:
    """A type as signatures spell it: `map(K, list(V))`."""
    found, rest = _parse(text.strip())
    assert not rest, f"cannot read type {text!r}"
    return found


def _parse(text: str) -> tuple[Type, str]:
    length = next((i for i, c in enumerate(text) if c in "(),"), len(text))
    name, rest = text[:length].strip(), text[length:]
    if not rest.startswith("("):
        return Type(_NAMES.get(name, name)), rest
    params: list[Type] = []
    while not rest.startswith(")"):
        param, rest = _parse(rest[1:].lstrip())
        params.append(param)
    return Type(_NAMES.get(name, name), tuple(params)), rest[1:]


_NAMES = {
    "duration": DURATION.name,
    "timestamp": TIMESTAMP.name,
    "optional": "optional_type",
    "null": NULL.name,
    "quantity": QUANTITY.name,
    "semver": SEMVER.name,
    "url": "kubernetes.URL",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "format": "kubernetes.NamedFormat",
}


def unwrap_optional(kind: Type) -> tuple[Type, bool]:
    return (kind.params[0], True) if kind.name == "optional_type" else (kind, False)


def substitute(bound: Bindings, kind: Type, *, free_as_dyn: bool = False) -> Type:
    """The type with its bound parameters replaced."""
    if kind.is_param:
        known = bound.get(kind.name)
        if known is not None:
            bound.step()
            return substitute(bound, known, free_as_dyn=free_as_dyn)
        return DYN if free_as_dyn else kind
    if not kind.params:
        return kind
    bound.step()
    return Type(kind.name, tuple(substitute(bound, p, free_as_dyn=free_as_dyn) for p in kind.params))


def most_general(one: Type, other: Type) -> Type:
    """The more general of two assignable types."""
    return one if _is_as_general(one, other) else other


def assignable(bound: Bindings, one: Type, other: Type) -> bool:
    """Whether one type is assignable to the other. Adds the necessary bindings to `bound`."""
    bound.step()
    if other.is_param:
        valid, known = _fits_parameter(bound, one, other)
        if valid or known:
            return valid
    if one.is_param:
        return _fits_parameter(bound, other, one)[0]
    if one in WILD or other in WILD or ERROR in (one, other):
        return True
    if NULL in (one, other):
        return one == other or (other if one == NULL else one).name in _NULLABLE or _is_object(one, other)
    if one.name == "type":
        return other.name == "type"
    if one.name != other.name or len(one.params) != len(other.params):
        return False
    return all(assignable(bound, a, b) for a, b in zip(one.params, other.params, strict=True))


def _is_object(one: Type, other: Type) -> bool:
    return "." in one.name or "." in other.name


def _fits_parameter(bound: Bindings, kind: Type, parameter: Type) -> tuple[bool, bool]:
    """Whether a parameter may be bound to the type, and whether it was bound before."""
    if kind == parameter:
        return True, True
    known = bound.get(parameter.name)
    if known is not None:
        if kind == known:
            return True, True
        if not assignable(bound, kind, known):
            return False, True
        general = most_general(kind, known)
        if not _occurs(bound, parameter, general):
            bound[parameter.name] = general
        return True, True
    if _occurs(bound, parameter, kind):
        return False, False
    bound[parameter.name] = kind
    return True, False


def _occurs(bound: Bindings, parameter: Type, kind: Type) -> bool:
    bound.step()
    if kind == parameter:
        return True
    if kind.is_param:
        known = bound.get(kind.name)
        return known is not None and _occurs(bound, parameter, known)
    return any(_occurs(bound, parameter, p) for p in kind.params)


def _is_as_general(one: Type, other: Type) -> bool:
    if one in WILD or one.is_param:
        return True
    if other in WILD or other.is_param or one.name != other.name or len(one.params) != len(other.params):
        return False
    return one.name == "type" or all(_is_as_general(a, b) for a, b in zip(one.params, other.params, strict=True))
