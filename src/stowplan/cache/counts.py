"""Incremental counts of pods by slot and by topology domain, which spread and affinity read.

Counts are float64 because every pass over many nodes multiplies them with a weight or sums them by domain, both of
which would convert integers each time; they are whole numbers far below 2^53, so nothing is lost. The `values` of an
array are a view of the same memory.
"""

from __future__ import annotations

from itertools import count
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import float_view, shared_zeros
from stowplan.cache.labels import ABSENT, LabelColumn

Eligible = NDArray[np.bool_]

_NO_DOMAINS: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

_COUNT_WITHOUT_DOMAINS = 2**31 - 1
"""The least count where there are no domains, as in kube-scheduler."""

_MAX_SORTED_NAMES = 200

_MIN_SWEPT_SUMS = 4
"""Sums that are gone are swept out when their list has doubled, but not below this length."""

_stamps = count(1)


class SlotCounts:
    """The number of matching pods on each node, with sums by domain for the topology keys in use.

    Held weakly: counts and sums live as long as a plugin refers to them.
    """

    __slots__ = ("__weakref__", "_known", "_live", "_max_live", "array", "total", "values")

    def __init__(self, size: int) -> None:
        self.array: NDArray[np.float64] = shared_zeros(size)
        """Shared and read-only until the first pod is counted."""
        self.values = float_view(self.array)
        self.total = 0
        self._known: dict[tuple[str, object], ref[DomainCounts]] = {}
        self._live: list[ref[DomainCounts]] = []
        self._max_live = _MIN_SWEPT_SUMS

    def grow(self, size: int) -> None:
        if self.values.readonly:
            self.array = shared_zeros(size)
        else:
            self.array = np.concatenate([self.array, np.zeros(size - len(self.array))])
        self.values = float_view(self.array)

    def add(self, slot: int, amount: int) -> None:
        try:
            self.values[slot] += amount
        except TypeError:  # The shared zeros. A test for them in each call would cost more.
            self.array = self.array.copy()
            self.values = float_view(self.array)
            self.values[slot] += amount
        self.total += amount
        for live in self._live:
            domains = live()
            if domains is not None:
                domains.add(slot, amount)

    def by_domain(self, column: LabelColumn, eligible: Eligible | None = None, sort: object = None) -> DomainCounts:
        """Sums over the domains of a topology key; `eligible` limits the nodes that count.

        `sort` names the eligibility: equal names must mean equal rules. The sums are live from then on.
        """
        key = (column.key, sort)
        known = self._known.get(key)
        domains = None if known is None else known()
        if domains is None:
            domains = DomainCounts(self, column)
            self._known[key] = ref(domains)
            self._live.append(self._known[key])
            if len(self._live) > self._max_live:
                self._known = {key: live for key, live in self._known.items() if live() is not None}
                self._live = list(self._known.values())
                self._max_live = max(_MIN_SWEPT_SUMS, 2 * len(self._live))
        domains.refresh(eligible)
        return domains


class DomainCounts:
    """Sums of one SlotCounts over the domains of one topology key, kept up to date as pods come and go."""

    __slots__ = (
        "__weakref__",
        "_counted_domains",
        "_eligible",
        "_least",
        "_levels",
        "_version",
        "array",
        "column",
        "counted",
        "counts",
        "occupied",
        "revision",
        "stamp",
        "total",
        "values",
    )

    def __init__(self, counts: SlotCounts, column: LabelColumn) -> None:
        self.counts = counts
        self.column = column
        self._eligible: Eligible | None = None
        self._version = -1
        self._levels: dict[int, int] | None = None
        self._least = _COUNT_WITHOUT_DOMAINS
        self._counted_domains = _NO_DOMAINS
        self.array: NDArray[np.float64] = np.zeros(1)
        """Sum by domain id; the last entry, reached by the id of absence, stays zero."""
        self.values = float_view(self.array)
        self.counted = 0
        """How many domains have an eligible node."""
        self.total = 0
        """The sum over all domains."""
        self.occupied = 0
        """Bit by bit, which domains of more than one node have a sum that is not zero."""
        self.stamp = 0
        """Differs from that of all other sums, and from its own after they were made anew.

        While `stamp` and `occupied` stay equal, the answer to "are there any in the node's domain?" differs at most
        for nodes that changed themselves: the sum of a domain of one node changes only together with that node.
        """
        self.revision = 0
        """Grows with every change."""

    def refresh(self, eligible: Eligible | None) -> None:
        """Sum anew if node labels or eligibility changed since."""
        column = self.column
        if self._version == column.version and self._eligible is eligible:
            return
        self._version = column.version
        self._eligible = eligible
        if column.present:
            self._sum(column, eligible)
        else:
            self._clear(len(column.texts) + 1)
        self._levels = None
        self.stamp = next(_stamps)
        self.revision += 1

    def occupancy(self) -> tuple[int, int]:
        """`stamp` and `occupied` of the sums over all nodes, brought up to date."""
        if self._version != self.column.version or self._eligible is not None:
            self.refresh(None)
        return self.stamp, self.occupied

    def _clear(self, size: int) -> None:
        """No node has the topology key: there are no domains."""
        self.array = np.zeros(size)
        self.values = float_view(self.array)
        self._counted_domains = _NO_DOMAINS
        self.counted = self.total = self.occupied = 0

    def _sum(self, column: LabelColumn, eligible: Eligible | None) -> None:
        mask = column.array != ABSENT
        if eligible is not None:
            mask &= eligible
        ids = column.array[mask]
        size = len(column.texts) + 1
        self.array = np.bincount(ids, weights=self.counts.array[mask], minlength=size).astype(np.float64, copy=False)
        self.values = float_view(self.array)
        self._counted_domains = np.flatnonzero(np.bincount(ids, minlength=size))
        self.counted = len(self._counted_domains)
        self.total = int(self.array.sum())
        self.occupied = sum(1 << d for d in np.flatnonzero(self.array).tolist() if column.sizes[d] != 1)

    def add(self, slot: int, amount: int) -> None:
        column = self.column
        if self._version != column.version:
            return  # summed anew before the next use
        domain = column.values[slot]
        if domain == ABSENT or (self._eligible is not None and not self._eligible[slot]):
            return
        before = int(self.values[domain])
        after = before + amount
        self.values[domain] = after
        self.total += amount
        self.revision += 1
        if (before == 0) != (after == 0) and column.sizes[domain] != 1:
            self.occupied ^= 1 << domain
        if self._levels is not None:
            self._move(self._levels, before, after)

    @property
    def least(self) -> int:
        """The least sum over the domains that have an eligible node; tracked from the first call on."""
        if self._levels is None:
            levels, numbers = np.unique(self.array[self._counted_domains], return_counts=True)
            self._levels = dict(zip(levels.astype(int).tolist(), numbers.tolist(), strict=True))
            self._least = min(self._levels, default=_COUNT_WITHOUT_DOMAINS)
        return self._least

    def of(self, slot: int) -> float:
        """The sum in the node's own domain; 0 where it has none."""
        return self.values[self.column.values[slot]]

    def lowest(self, number: int) -> dict[str, int]:
        """The lowest sums of `by_name`, with equal ones by name. Of very many equal ones, the first to come are taken:
        to sort thousands of names takes milliseconds."""
        domains = self._counted_domains
        sums = self.array[domains]
        if len(domains) > number:
            limit = np.partition(sums, number - 1)[number - 1]
            equal = np.flatnonzero(sums == limit)[:_MAX_SORTED_NAMES]
            chosen = np.concatenate([np.flatnonzero(sums < limit), equal])
            domains, sums = domains[chosen], sums[chosen]
        texts = self.column.texts
        found = sorted(zip(sums.astype(int).tolist(), [texts[each] for each in domains.tolist()], strict=True))
        return {name: count for count, name in found[:number]}

    def by_name(self) -> dict[str, int]:
        """The sums of the domains that have an eligible node, by label value."""
        return {self.column.texts[each]: int(self.values[each]) for each in self._counted_domains.tolist()}

    def _move(self, levels: dict[int, int], before: int, after: int) -> None:
        """One domain's sum went from one level to another."""
        levels[after] = levels.get(after, 0) + 1
        left = levels[before] - 1
        if left:
            levels[before] = left
        else:
            del levels[before]
        if after < self._least:
            self._least = after
        elif before == self._least and not left:
            self._least = min(levels)
