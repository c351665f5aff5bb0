import numpy as np
import pytest

from stowplan.framework import Normalizer
from stowplan.runtime.decide.normalize import NORMALIZERS


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("default", [0, 3, 6], [0, 50, 100]),
        ("default", [1, 2, 3], [33, 66, 100]),
        ("default", [0, 0], [0, 0]),
        ("default", [5, 5], [100, 100]),
        ("default-reverse", [0, 1, 2], [100, 50, 0]),
        ("default-reverse", [1, 3], [67, 0]),
        ("default-reverse", [0, 0], [100, 100]),
        ("default-reverse", [7, 7], [0, 0]),
        ("min-max", [-5, 0, 5], [0, 50, 100]),
        ("min-max", [4, 4], [0, 0]),
        ("min-max", [0.25, 0.5, 1.0], [0, 33, 100]),
        ("reverse", [-5, 0, 5], [100, 50, 0]),
        ("reverse", [4.0, 4.0], [100, 100]),
    ],
)
def test_ready_normalisers(name: Normalizer, raw: list[float], expected: list[int]) -> None:
    array = np.array(raw)
    assert NORMALIZERS[name](array, array.min(), array.max()).tolist() == expected


def test_large_scores_do_not_overflow() -> None:
    raw = np.array([10**16, 5 * 10**15], dtype=np.int64)
    assert NORMALIZERS["default"](raw, raw.min(), raw.max()).tolist() == [100, 50]
