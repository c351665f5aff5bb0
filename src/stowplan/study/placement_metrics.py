"""Metrics of where pods are and what nodes have left: skew of workloads over zones, and fragmentation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.float64]
_RequestClass = tuple[tuple[str, int], ...]

_MAX_CLASSES = 32
"""The most frequent classes of pods that fragmentation is measured with."""
_MAX_COUNTED_CLASSES = 4096
"""Beyond this number of classes the rarer half is forgotten."""


class WorkloadSpread:
    """Running pods of each workload by zone."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, workload: str, zone: str, change: int) -> None:
        if zone:
            self._counts[workload][zone] += change

    def skew(self, zones: Collection[str]) -> int:
        """The largest difference between two of the zones, of any workload."""
        spreads = ([counts[zone] for zone in zones] for counts in self._counts.values())
        return max((max(each) - min(each) for each in spreads), default=0)


class _WantedAmounts(NamedTuple):
    """What classes of pods request of a resource, as a column."""

    amounts: Amounts
    some: NDArray[np.bool_]
    """Whether they request some."""
    everyone: bool
    """Whether all of them do."""


class RequestClasses:
    """Requests of the pods so far, with their number."""

    def __init__(self) -> None:
        self._counts: Counter[_RequestClass] = Counter()
        self._keys: dict[int, tuple[Mapping[str, int], _RequestClass]] = {}
        self._latest: tuple[list[_RequestClass], tuple[str, ...], dict[str, _WantedAmounts]] = ([], (), {})
        self._smallest: dict[str, int] = {}
        """By resource: the smallest request."""

    def add(self, requests: Mapping[str, int]) -> None:
        known = self._keys.get(id(requests))
        if known is None or known[0] is not requests:
            if len(self._keys) > _MAX_CLASSES:
                self._keys.clear()
            known = self._keys[id(requests)] = (requests, tuple(sorted(requests.items())))
            for name, amount in requests.items():
                if amount:
                    self._smallest[name] = min(amount, self._smallest.get(name, amount))
        self._counts[known[1]] += 1
        if len(self._counts) > _MAX_COUNTED_CLASSES:
            self._counts = Counter(dict(self._counts.most_common(_MAX_COUNTED_CLASSES // 2)))

    def fragmentation(self, free: Mapping[str, Amounts]) -> dict[str, float]:
        """By resource: the share of the free amounts on nodes that a pod, drawn by frequency, cannot use. It can use
        none where it does not fit, and none of a resource that it does not request."""
        frequent = self._counts.most_common(_MAX_CLASSES)
        if not frequent or not free:
            return {}
        wanted = self._wanted([each for each, _ in frequent], tuple(free))
        fits = np.ones((len(frequent), len(next(iter(free.values())))), dtype=np.bool_)
        for name, amounts in free.items():
            fits &= amounts >= wanted[name].amounts
        counts = np.array([count for _, count in frequent], dtype=np.float64)
        pods = sum(count for _, count in frequent)
        fitting = counts @ fits
        found = {}
        for name, amounts in free.items():
            column = wanted[name]
            users = fitting if column.everyone else counts @ (fits & column.some)
            whole = float(np.add.reduce(amounts)) * pods
            found[name] = 1 - float(users @ amounts) / whole if whole else 0.0
        return found

    def _wanted(self, classes: list[_RequestClass], names: tuple[str, ...]) -> dict[str, _WantedAmounts]:
        """By resource, as columns; made when the order of the classes has changed."""
        if self._latest[:2] != (classes, names):
            columns = {name: np.array([[dict(each).get(name, 0)] for each in classes], np.float64) for name in names}
            found = {
                name: _WantedAmounts(column, column > 0, bool((column > 0).all())) for name, column in columns.items()
            }
            self._latest = classes, names, found
        return self._latest[2]

    def stranded(self, resource: str, free: Mapping[str, Amounts]) -> float:
        """The share of the free amount on nodes that have less of another resource than the smallest request of it."""
        idle = free[resource]
        whole = float(np.add.reduce(idle))
        if not whole:
            return 0.0
        lacking = np.zeros(len(idle), dtype=np.bool_)
        for name, amount in self._smallest.items():
            if name != resource and name in free:
                lacking |= free[name] < amount
        return float(idle[lacking].sum()) / whole
