"""Functions on quantities.

Upstream: k8s.io/apiserver/pkg/cel/library/quantity.go
"""

from __future__ import annotations

from stowplan.api.quantity import MAX_INT64, QuantityError, parse
from stowplan.cel.cost import by_first
from stowplan.cel.library import Library
from stowplan.cel.values import CelError, Quantity

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_NANO = 10**9


@overload("quantity(string) -> quantity", cost=by_first)
def _quantity(text: str) -> Quantity:
    if text != text.strip() or not text:
        raise CelError(_NOT_A_QUANTITY)
    try:
        return Quantity(parse(text))
    except QuantityError as error:
        wrong = _NOT_A_QUANTITY if "regular expression" in str(error) else "unable to parse quantity's suffix"
        raise CelError(wrong) from None


_NOT_A_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@overload("isQuantity(string) -> bool", cost=by_first)
def _is_quantity(text: str) -> bool:
    try:
        _quantity(text)
    except CelError:
        return False
    return True


def _is_whole(value: Quantity) -> bool:
    return value.amount % _NANO == 0 and -MAX_INT64 <= value.amount // _NANO <= MAX_INT64


@overload("quantity::asInteger() -> int")
def _as_integer(value: Quantity) -> int:
    if not _is_whole(value):
        raise CelError("cannot convert value to integer")
    return value.amount // _NANO


def _sign(value: int) -> int:
    return int(value > 0) - int(value < 0)


declare("sign(quantity) -> int", lambda value: _sign(value.amount))
declare("quantity::isInteger() -> bool", _is_whole)
declare("quantity::asApproximateFloat() -> double", lambda value: value.amount / _NANO)
declare("quantity::isGreaterThan(quantity) -> bool", lambda a, b: a.amount > b.amount)
declare("quantity::isLessThan(quantity) -> bool", lambda a, b: a.amount < b.amount)
declare("quantity::compareTo(quantity) -> int", lambda a, b: _sign(a.amount - b.amount))
declare("quantity::add(quantity) -> quantity", lambda a, b: Quantity(a.amount + b.amount))
declare("quantity::add(int) -> quantity", lambda a, b: Quantity(a.amount + b * _NANO))
declare("quantity::sub(quantity) -> quantity", lambda a, b: Quantity(a.amount - b.amount))
declare("quantity::sub(int) -> quantity", lambda a, b: Quantity(a.amount - b * _NANO))
