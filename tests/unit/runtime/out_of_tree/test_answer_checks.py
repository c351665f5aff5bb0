from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from stowplan.runtime.out_of_tree.answer_checks import real, sort_key_types


@pytest.mark.parametrize(
    "value", [5, 5.0, np.int64(5), np.uint8(5), np.float16(5), np.float64(5), Fraction(5)], ids=type
)
def test_real_numbers_become_pythons_own(value: Any) -> None:
    number = real(value)
    assert number == 5
    assert isinstance(number, int | float)


def test_small_integers_of_numpy_do_not_overflow_any_more() -> None:
    number = real(np.int8(100))
    assert number is not None
    assert number * 100 == 10_000


@pytest.mark.parametrize(
    "value",
    [
        nan,
        inf,
        -inf,
        np.float32(nan),
        np.float64(inf),
        10**400,
        Fraction(10**400),
        1j,
        "5",
        None,
        [5],
        np.True_,
        Decimal(5),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_anything_else_is_none(value: Any) -> None:
    assert real(value) is None


@pytest.mark.parametrize(
    ("key", "types"),
    [
        ((), ()),
        ((1, 2.5, True, "a"), (float, float, float, str)),
        ((nan,), None),
        ((None,), None),
        (((1,),), None),
        ([1], None),
        (None, None),
    ],
)
def test_sort_keys_are_tuples_of_numbers_and_strings(key: object, types: tuple[type, ...] | None) -> None:
    assert sort_key_types(key) == types
