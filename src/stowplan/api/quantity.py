"""Exact resource quantities.

Kubernetes rounds every quantity up to a whole number of nano units, so an int of nano units is exact, and quantities
are compared as ints. All functions are memoised: a cluster has few distinct texts.

Upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go
"""

import re
from typing import TypeAlias

from stowplan.api.meta import Quantity
from stowplan.api.text_cache import text_cache
from stowplan.errors import InputError

Exact: TypeAlias = int
"""A quantity in nano units."""

MAX_INT64 = 2**63 - 1

_NANO = 10**9
_MICRO = 10**6
_MAX_BINARY = MAX_INT64 * _NANO
_MAX_EXPONENT = 1000
_MAX_LENGTH = 1000
_CACHE_SIZE = 1 << 16

# Possessive, since digits may belong to the number or to the suffix: trying both is quadratic.
_PATTERN = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[+-]?[0-9]*+)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityError(InputError):
    """A text that is not a quantity."""


@text_cache(_CACHE_SIZE)
def parse(quantity: Quantity) -> Exact:
    """The quantity in nano units, rounded away from zero."""
    if isinstance(quantity, int):
        return quantity * _NANO
    # The shortest text of a float is the number in the JSON.
    text = repr(quantity) if isinstance(quantity, float) else quantity.strip()
    match = _PATTERN.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(f"cannot parse quantity {_quoted(text)}: {_WRONG_FORMAT}")
    sign, whole, fraction, suffix = match.groups(default="")
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        nanos = min(_shift(digits << _BINARY[suffix], 9 - len(fraction)), _MAX_BINARY)
    else:
        nanos = _shift(digits, _exponent(text, suffix) + 9 - len(fraction))
    return -nanos if sign == "-" else nanos


@text_cache(_CACHE_SIZE)
def value(quantity: Quantity) -> int:
    """The quantity in whole units, rounded away from zero and clamped to int64."""
    return _round(parse(quantity), _NANO)


@text_cache(_CACHE_SIZE)
def milli_value(quantity: Quantity) -> int:
    """The quantity in milli units, rounded away from zero and clamped to int64."""
    return _round(parse(quantity), _MICRO)


def round_up(resource: str, amount: Exact) -> int:
    """A sum in the scheduler's unit of the resource: milli units for cpu, whole units otherwise."""
    return _round(amount, _MICRO if resource == "cpu" else _NANO)


def canonical(amount: Exact, *, binary: bool = False) -> str:
    """An amount as Kubernetes writes it: with the largest suffix that leaves an integer, of 1024 if `binary`."""
    if not amount:
        return "0"
    if binary and amount % _NANO == 0 and abs(amount) >= 1024 * _NANO:
        whole = amount // _NANO
        return next(
            (f"{whole >> shift}{suffix}" for suffix, shift in reversed(_BINARY.items()) if not whole % (1 << shift)),
            str(whole),
        )
    units = ((suffix, 10 ** (power + 9)) for suffix, power in reversed(_DECIMAL.items()))
    return next(f"{amount // unit}{suffix}" for suffix, unit in units if amount % unit == 0)


def _exponent(text: str, suffix: str) -> int:
    """The power of ten of a decimal suffix."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    try:
        exponent = int(suffix[1:]) if suffix[0] in "eE" else None
    except ValueError:
        exponent = None
    if exponent is None:
        raise QuantityError(f"cannot parse quantity {_quoted(text)}: {_WRONG_SUFFIX}")
    # Beyond every int64, and small enough that a hostile exponent is cheap.
    return max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent))


def _shift(digits: int, power: int) -> int:
    """Digits times a power of ten, rounded up."""
    if power >= 0:
        return digits * int(10**power)
    return -(-digits // int(10**-power))


def _round(amount: Exact, unit: int) -> int:
    """An amount in a larger unit, rounded away from zero and clamped to int64."""
    magnitude = min(-(-abs(amount) // unit), MAX_INT64)
    return magnitude if amount >= 0 else -magnitude


def _quoted(text: str) -> str:
    return f'"{text[:80]}…"' if len(text) > 80 else f'"{text}"'
