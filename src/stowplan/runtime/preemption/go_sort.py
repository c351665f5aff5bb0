"""Go's `sort.Slice`, with the same order of elements that compare equal.

The order of victims decides which of them are reprieved, and kube-scheduler sorts them with a quicksort that is not
stable, by a comparison that contradicts itself for pods which have not started. Both are deterministic, hence part of
its behaviour.

Upstream: sort/zsortfunc.go (pdqsort_func)
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_INSERTION_SORT_LENGTH = 12
"""Up to this many elements are sorted by insertion."""

_MIN_NINTHER_LENGTH = 50
"""From this many elements on the pivot is a median of medians, and strays are moved in nearly sorted ranges."""
_MAX_STRAYS = 5
_MAX_PIVOT_SWAPS = 12
_WORD_MASK = (1 << 64) - 1


def sorted_positions(keys: Sequence[int]) -> list[int]:
    """Positions of the keys once they are sorted. Elements that share an odd key claim to be less than each other."""
    data = _Slice(keys)
    data.quicksort(0, len(keys), len(keys).bit_length())
    return data.positions


class _Slice:
    """The elements being sorted. Ends of ranges are exclusive."""

    __slots__ = ("_keys", "_swaps", "positions")

    def __init__(self, keys: Sequence[int]) -> None:
        self._keys = list(keys)
        self.positions = list(range(len(keys)))
        self._swaps = 0

    def less(self, i: int, j: int) -> bool:
        a, b = self._keys[i], self._keys[j]
        return a < b or (a == b and a & 1 == 1)

    def swap(self, i: int, j: int) -> None:
        keys, positions = self._keys, self.positions
        keys[i], keys[j] = keys[j], keys[i]
        positions[i], positions[j] = positions[j], positions[i]

    def quicksort(self, first: int, end: int, bad_pivots: int) -> None:
        balanced = in_place = True
        while end - first > MAX_INSERTION_SORT_LENGTH:
            if not bad_pivots:
                self._heapsort(first, end)
                return
            if not balanced:
                self._scatter(first, end)
                bad_pivots -= 1
            pivot, looks_sorted = self._pivot(first, end)
            if balanced and in_place and looks_sorted and self._settle_strays(first, end):
                return
            if first and not self.less(first - 1, pivot):
                first = self._split_equal(first, end, pivot)
                continue
            length = end - first
            middle, in_place = self._split(first, end, pivot)
            balanced = min(middle - first, end - middle) >= length // 8
            if middle - first < end - middle:
                self.quicksort(first, middle, bad_pivots)
                first = middle + 1
            else:
                self.quicksort(middle + 1, end, bad_pivots)
                end = middle
        self._insertion_sort(first, end)

    def _insertion_sort(self, first: int, end: int) -> None:
        for i in range(first + 1, end):
            self._sink(i, first)

    def _sink(self, i: int, lowest: int) -> None:
        """Move an element towards the front while it belongs before its neighbour."""
        while i > lowest and self.less(i, i - 1):
            self.swap(i, i - 1)
            i -= 1

    def _pivot(self, first: int, end: int) -> tuple[int, bool]:
        """(position of the pivot, whether the range looks sorted); a range that looks reversed is turned round."""
        quarter = (end - first) // 4
        places = [first + quarter, first + 2 * quarter, first + 3 * quarter]
        self._swaps = 0
        if end - first >= _MIN_NINTHER_LENGTH:
            places = [self._median(place - 1, place, place + 1) for place in places]
        pivot = self._median(*places)
        if self._swaps == _MAX_PIVOT_SWAPS:
            self._keys[first:end] = self._keys[first:end][::-1]
            self.positions[first:end] = self.positions[first:end][::-1]
            return end - 1 - (pivot - first), True
        return pivot, not self._swaps

    def _median(self, a: int, b: int, c: int) -> int:
        a, b = self._in_order(a, b)
        b, c = self._in_order(b, c)
        return self._in_order(a, b)[1]

    def _in_order(self, a: int, b: int) -> tuple[int, int]:
        if self.less(b, a):
            self._swaps += 1
            return b, a
        return a, b

    def _split(self, first: int, end: int, pivot: int) -> tuple[int, bool]:
        """Put what is less than the pivot before it; (where the pivot is then, whether nothing else had to move)."""
        self.swap(first, pivot)
        low, high = first + 1, end - 1
        in_place = True
        while True:
            while low <= high and self.less(low, first):
                low += 1
            while low <= high and not self.less(high, first):
                high -= 1
            if low > high:
                break
            self.swap(low, high)
            low, high, in_place = low + 1, high - 1, False
        self.swap(high, first)
        return high, in_place

    def _split_equal(self, first: int, end: int, pivot: int) -> int:
        """Put what equals the pivot, the least of the range, before all that is greater; where the latter begins."""
        self.swap(first, pivot)
        low, high = first + 1, end - 1
        while True:
            while low <= high and not self.less(first, low):
                low += 1
            while low <= high and self.less(first, high):
                high -= 1
            if low > high:
                return low
            self.swap(low, high)
            low, high = low + 1, high - 1

    def _settle_strays(self, first: int, end: int) -> bool:
        """Move a few elements that are out of order; whether the range is sorted then."""
        i = first + 1
        for _ in range(_MAX_STRAYS):
            while i < end and not self.less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - first < _MIN_NINTHER_LENGTH:
                return False
            self.swap(i, i - 1)
            if i - first >= 2:
                self._sink(i - 1, 0)
            j = i + 1
            while j < end and self.less(j, j - 1):
                self.swap(j, j - 1)
                j += 1
        return False

    def _scatter(self, first: int, end: int) -> None:
        """Swap three elements of the middle with others, so that no pattern makes for bad pivots again and again."""
        length = seed = end - first
        middle = first + length // 4 * 2
        for place in range(middle - 1, middle + 2):
            seed ^= seed << 13 & _WORD_MASK
            seed ^= seed >> 7
            seed ^= seed << 17 & _WORD_MASK
            other = seed & (1 << length.bit_length()) - 1
            self.swap(place, first + (other if other < length else other - length))

    def _heapsort(self, first: int, end: int) -> None:
        length = end - first
        for root in range((length - 1) // 2, -1, -1):
            self._sift_down(root, length, first)
        for last in range(length - 1, -1, -1):
            self.swap(first, first + last)
            self._sift_down(0, last, first)

    def _sift_down(self, root: int, length: int, first: int) -> None:
        while (child := 2 * root + 1) < length:
            if child + 1 < length and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child
