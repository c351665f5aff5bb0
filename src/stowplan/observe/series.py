"""Counters, gauges and histograms as plain numbers, each written by one thread and read by another without locks.

A series is looked up by its labels once and then fed directly: no names, no labels and no locks per pod.

Upstream: github.com/prometheus/client_golang/prometheus, k8s.io/component-base/metrics
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from math import isfinite, isnan
from typing import Generic, NamedTuple, TypeVar

import numpy as np

Labels = tuple[str, ...]
Reading = Mapping[Labels, float]

_NUMPY_FROM_VALUES = 64
"""From this many values on, NumPy is faster than a loop."""

UNEXPECTED = "unexpected"
"""Replaces a label value that is not on the allow-list."""


class Sample(NamedTuple):
    """One line of a scrape."""

    suffix: str
    labels: Mapping[str, str]
    value: float


class NumberSeries:
    """A counter's or a gauge's series."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float = 1.0) -> None:
        self.value += amount

    def set(self, value: float) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = 0.0

    def samples(self, labels: Mapping[str, str]) -> Iterator[Sample]:
        yield Sample("", labels, self.value)


class Histogram:
    """A histogram's series: the number of values in each bucket, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def observe_many(self, values: Sequence[float]) -> None:
        if len(values) < _NUMPY_FROM_VALUES:
            for value in values:
                self.observe(value)
            return
        found = np.asarray(values, dtype=np.float64)
        counts = np.bincount(np.searchsorted(self.bounds, found), minlength=len(self.counts))
        self.counts[:] = [old + new for old, new in zip(self.counts, counts.tolist(), strict=True)]
        self.sum += float(found.sum())

    def clear(self) -> None:
        self.counts[:] = [0] * len(self.counts)
        self.sum = 0.0

    def samples(self, labels: Mapping[str, str]) -> Iterator[Sample]:
        counts = self.counts.copy()
        total = 0
        for bound, count in zip((*self.bounds, float("inf")), counts, strict=True):
            total += count
            yield Sample("_bucket", {**labels, "le": go_float(bound)}, total)
        yield Sample("_sum", labels, self.sum)
        yield Sample("_count", labels, total)


T = TypeVar("T")
K = TypeVar("K")
S = TypeVar("S", NumberSeries, Histogram)


def take(items: list[T]) -> list[T]:
    """Remove and return the items; another thread may append meanwhile."""
    taken = items[:]
    del items[: len(taken)]
    return taken


class Tally(dict[K, int]):
    """Totals by key, incremented by one thread; another thread reads the increments."""

    def __init__(self) -> None:
        super().__init__()
        self._counted: dict[K, int] = {}

    def new(self) -> dict[K, int]:
        """Increments since the last call, without zeroes."""
        totals = self.copy()
        increments = {key: total - self._counted.get(key, 0) for key, total in totals.items()}
        self._counted = totals
        return {key: number for key, number in increments.items() if number}


class Family(Generic[S]):
    """All series of one name."""

    def __init__(
        self,
        name: str,
        kind: str,
        help_text: str,
        label_names: Labels,
        make: Callable[[], S],
        read: Callable[[], Reading] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        """counter, gauge or histogram."""
        self.help_text = help_text
        self.label_names = label_names
        self.allowed: dict[str, Collection[str]] = {}
        """Allow-lists by label."""
        self.on_unexpected: Callable[[], None] = lambda: None
        self._make: Callable[[], S] = make
        self._read = read
        self._series: dict[Labels, S] = {}
        if not label_names and read is None:
            self.series()

    def series(self, *values: str) -> S:
        """The series with these label values; keep a reference where it is fed often."""
        found = self._series.get(values)
        if found is None:
            kept = self._restricted(values) if self.allowed else values
            found = self._series.get(kept)
            if found is None:
                found = self._series.setdefault(kept, self._make())
        return found

    def each(self) -> list[S]:
        """All series."""
        return list(self._series.copy().values())

    def _restricted(self, values: Labels) -> Labels:
        named = zip(self.label_names, values, strict=True)
        kept = tuple(value if value in self.allowed.get(name, (value,)) else UNEXPECTED for name, value in named)
        if kept != values:
            self.on_unexpected()
        return kept

    def samples(self) -> Iterator[Sample]:
        """All samples, sorted by label values."""
        if self._read is not None:
            for values, reading in sorted(self._read().items()):
                yield Sample("", self._named(values), reading)
        for values, series in sorted(self._series.copy().items()):
            yield from series.samples(self._named(values))

    def _named(self, values: Labels) -> dict[str, str]:
        return dict(sorted(zip(self.label_names, values, strict=True)))

    def reset(self) -> None:
        """Zeroes counters and histograms in place; gauges are left alone."""
        for series in list(self._series.values()) if self.kind != "gauge" else ():
            series.clear()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Exponential bucket bounds, multiplied step by step as in Go, so that rounding is equal."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def go_float(value: float) -> str:
    """A number as Go formats it: no ".0", and an exponent from a million on."""
    if not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    if abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    # Go's shortest digits are Python's; only the layout differs.
    mantissa, exponent = f"{Decimal(repr(value)).normalize():E}".split("E")
    return f"{mantissa}e{int(exponent):+03}"
