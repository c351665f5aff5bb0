"""Counts by slot and sums by domain, against sums made from scratch."""

from __future__ import annotations

import gc
from random import Random

import numpy as np
import pytest

from stowplan.cache import ABSENT, DomainCounts, LabelColumn, SlotCounts

SIZE = 9
NONE = 2**31 - 1


def check(domains: DomainCounts, counts: list[int], column: LabelColumn, eligible: list[bool]) -> None:
    """Everything that a DomainCounts says follows from counts, labels and eligibility."""
    sums: dict[int, int] = {}
    for slot, domain in enumerate(column.values):
        if domain != ABSENT and eligible[slot]:
            sums[domain] = sums.get(domain, 0) + counts[slot]
    size = len(column.texts)
    assert domains.array.tolist() == [sums.get(domain, 0) for domain in range(size)] + [0]
    assert list(domains.values) == domains.array.tolist()
    assert domains.counted == len(sums)
    assert domains.least == min(sums.values(), default=NONE)
    assert domains.total == sum(sums.values())
    several = [domain for domain, value in sums.items() if value and column.sizes[domain] != 1]
    assert domains.occupied == sum(1 << domain for domain in several)
    everywhere = [domains.of(slot) for slot in range(SIZE)]
    assert everywhere == [0 if d == ABSENT else sums.get(d, 0) for d in column.values]


@pytest.mark.parametrize("seed", range(60))
def test_sums_stay_right(seed: int) -> None:
    random = Random(seed)
    column, counts = LabelColumn("zone", SIZE), SlotCounts(SIZE)
    plain = [0] * SIZE
    eligible = np.array([random.random() < 0.7 for _ in range(SIZE)])
    everyone = [True] * SIZE
    for slot in range(SIZE):
        column.put(slot, random.choice([{}, {"zone": "a"}, {"zone": "b"}, {"zone": str(slot)}]))
    by_all, by_some = counts.by_domain(column), counts.by_domain(column, eligible, "some")
    for _ in range(40):
        slot, change = random.randrange(SIZE), random.random()
        if change < 0.1:
            column.put(slot, random.choice([{}, {"zone": "a"}, {"zone": "c"}]))
        elif change < 0.15:
            eligible = np.array([random.random() < 0.7 for _ in range(SIZE)])
        else:
            amount = random.choice([1, 1, -1])
            plain[slot] += amount
            counts.add(slot, amount)
        if random.random() < 0.7:
            assert counts.by_domain(column) is by_all
            assert counts.by_domain(column, eligible, "some") is by_some
            check(by_all, plain, column, everyone)
            check(by_some, plain, column, eligible.tolist())
    assert counts.array.tolist() == list(counts.values) == plain
    assert counts.total == sum(plain)


def zones(*texts: str) -> LabelColumn:
    column = LabelColumn("zone", len(texts))
    for slot, text in enumerate(texts):
        column.put(slot, {"zone": text})
    return column


def test_stamp_and_occupied_tell_when_a_shared_domain_becomes_or_stops_being_empty() -> None:
    column, counts = zones("a", "a", "single"), SlotCounts(3)
    domains = counts.by_domain(column)

    def token() -> tuple[int, int]:
        return domains.stamp, domains.occupied

    empty = token()
    counts.add(2, 1)
    assert token() == empty
    counts.add(0, 1)
    some = token()
    assert some != empty
    counts.add(1, 1)
    assert token() == some
    counts.add(0, -1)
    counts.add(1, -1)
    assert token() == empty
    column.put(2, {})
    domains.refresh(None)
    assert token() != empty


def test_stamps_are_never_shared() -> None:
    column, counts = zones("a", "b"), SlotCounts(2)
    one, other = counts.by_domain(column), counts.by_domain(column, np.array([True, True]), "all")
    stamps = {one.stamp, other.stamp}
    del one, other
    gc.collect()
    stamps.add(counts.by_domain(column).stamp)
    assert len(stamps) == 3


def test_sums_that_nobody_keeps_are_dropped() -> None:
    column, counts = zones("a", "b"), SlotCounts(2)
    counts.by_domain(column, np.array([True, False]), "gone")
    kept = counts.by_domain(column)
    gc.collect()
    counts.add(0, 2)
    assert kept.of(0) == 2
    assert counts.by_domain(column, np.array([True, False]), "gone").of(0) == 2


def test_growing_keeps_counts() -> None:
    column, counts = zones("a", "b"), SlotCounts(2)
    domains = counts.by_domain(column)
    counts.add(1, 3)
    column.grow(4)
    counts.grow(4)
    column.put(3, {"zone": "b"})
    counts.add(3, 1)
    assert list(counts.values) == counts.array.tolist() == [0, 3, 0, 1]
    domains.refresh(None)
    assert domains.of(1) == domains.of(3) == 4


def test_counts_without_pods_share_their_storage() -> None:
    one, other = SlotCounts(SIZE), SlotCounts(SIZE)
    assert one.array is other.array
    one.add(1, 2)
    assert (one.values[1], other.values[1]) == (2, 0)
    other.grow(2 * SIZE)
    one.grow(2 * SIZE)
    assert (one.array[1], len(one.array), len(other.array)) == (2, 2 * SIZE, 2 * SIZE)


def test_sums_that_are_gone_are_swept_out() -> None:
    counts = SlotCounts(SIZE)
    kept = counts.by_domain(LabelColumn("zone", SIZE))
    for i in range(500):
        counts.by_domain(LabelColumn(f"k{i}", SIZE))
    assert len(counts._live) <= 8
    assert counts.by_domain(kept.column) is kept
