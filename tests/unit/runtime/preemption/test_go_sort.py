"""Orders were recorded from Go's sort.Slice; elements with an odd key claim to be less than each other."""

from __future__ import annotations

from zlib import crc32

import pytest

from stowplan.runtime.preemption.go_sort import sorted_positions


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([], []),
        ([2] * 12, list(range(12))),
        ([1] * 5, [4, 3, 2, 1, 0]),
        ([1] * 13, [11, 10, 9, 8, 7, 0, 5, 4, 3, 2, 1, 12, 6]),
        (
            [i * 7 % 4 * 2 for i in range(20)],
            [0, 16, 4, 12, 8, 19, 3, 15, 7, 11, 10, 6, 14, 2, 18, 9, 13, 5, 17, 1],
        ),
    ],
)
def test_equals_end_up_where_go_puts_them(keys: list[int], expected: list[int]) -> None:
    assert sorted_positions(keys) == expected


@pytest.mark.parametrize(
    ("keys", "checksum"),
    [
        pytest.param([2 * (60 - i) for i in range(60)], 328763575, id="reversed"),
        pytest.param([*range(0, 60, 2), 4, *range(60, 120, 2)], 105047006, id="one astray"),
        pytest.param([i * 7919 % 50 * 2 for i in range(110)], 932500091, id="patterns are broken"),
        pytest.param([i * 31 % 6 for i in range(80)], 1366330488, id="many equals"),
        pytest.param([1] * 110, 3046235785, id="all contradict each other"),
        pytest.param([i % 2 * 3 for i in range(200)], 1515185001, id="ends in a heapsort"),
    ],
)
def test_long_slices(keys: list[int], checksum: int) -> None:
    assert crc32(bytes(sorted_positions(keys))) == checksum
