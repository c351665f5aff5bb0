"""Samples of a scheduler over time: queues, rates, waits and use."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stowplan.web.wire import History, Mark

SAMPLE_SECONDS = 5.0
MAX_SAMPLES = 1080
"""90 minutes."""
_WAIT_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_ATTEMPT_SHARES = {"p50": 0.5, "p99": 0.99}


class Buckets(NamedTuple):
    """Numbers of values in the buckets of a histogram."""

    bounds: Sequence[float]
    counts: Sequence[int]


class SchedulingTotals(NamedTuple):
    """Counters of a scheduler since its start."""

    bound: float = 0.0
    failed: float = 0.0
    evicted: float = 0.0
    waits: Buckets = Buckets((), ())
    """Seconds from the first attempt to the binding."""
    attempts: Buckets = Buckets((), ())
    """Seconds of an attempt."""


class _Sample(NamedTuple):
    time: float
    queues: Mapping[str, int]
    bound: float
    failed: float
    evicted: float
    waits: dict[str, float]
    attempts: dict[str, float]
    use: Mapping[str, float]


class HistoryRing:
    """The last 90 minutes."""

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch
        self._samples: deque[_Sample] = deque(maxlen=MAX_SAMPLES)
        self._last: tuple[float, SchedulingTotals] | None = None
        self._first_waits: Buckets | None = None
        self.marks: deque[Mark] = deque(maxlen=MAX_SAMPLES)

    def add(self, time: float, queues: Mapping[str, int], totals: SchedulingTotals, use: Mapping[str, float]) -> None:
        """A sample; rates and percentiles are those since the sample before."""
        before, known = self._last or (time, totals)
        self._first_waits = self._first_waits or totals.waits
        seconds = time - before
        self._last = time, totals

        def rate(now: float, then: float) -> float:
            return round(max(0.0, now - then) / seconds, 3) if seconds > 0 else 0.0

        self._samples.append(
            _Sample(
                time,
                queues,
                rate(totals.bound, known.bound),
                rate(totals.failed, known.failed),
                rate(totals.evicted, known.evicted),
                _percentiles(known.waits, totals.waits, _WAIT_SHARES, 1.0),
                _percentiles(known.attempts, totals.attempts, _ATTEMPT_SHARES, 1000.0),
                use,
            )
        )

    def rates(self) -> tuple[float, float]:
        """(pods bound, attempts failed) per second in the last sample."""
        return (self._samples[-1].bound, self._samples[-1].failed) if self._samples else (0.0, 0.0)

    def since(self, time: float) -> History:
        """The samples after a time."""
        samples = [sample for sample in self._samples if sample.time > time]
        queues = {name for sample in samples for name in sample.queues}
        resources = list(dict.fromkeys(name for sample in samples for name in sample.use))
        return History(
            epoch=self._epoch,
            time=[sample.time for sample in samples],
            queues={name: [sample.queues.get(name, 0) for sample in samples] for name in sorted(queues)},
            bound=[sample.bound for sample in samples],
            failed=[sample.failed for sample in samples],
            evicted=[sample.evicted for sample in samples],
            waits={name: [sample.waits[name] for sample in samples] for name in _WAIT_SHARES},
            all_waits=self._all_waits(),
            attempts={name: [sample.attempts[name] for sample in samples] for name in _ATTEMPT_SHARES},
            use={name: [sample.use.get(name, 0.0) for sample in samples] for name in resources},
            marks=[mark for mark in self.marks if mark.time > time],
        )

    def _all_waits(self) -> dict[str, float]:
        first, last = self._first_waits, self._last
        if first is None or last is None or sum(first.counts) == sum(last[1].waits.counts):
            return {}
        return _percentiles(first, last[1].waits, _WAIT_SHARES, 1.0)


def _percentiles(before: Buckets, after: Buckets, shares: Mapping[str, float], scale: float) -> dict[str, float]:
    """Upper bounds of the buckets in which the shares of the new values end; 0 without new values."""
    old = before.counts if len(before.counts) == len(after.counts) else [0] * len(after.counts)
    new = [now - then for now, then in zip(after.counts, old, strict=True)]
    total = sum(new)
    found = {}
    for name, share in shares.items():
        seen, value = 0, 0.0
        for position, count in enumerate(new):
            seen += count
            if count and total and seen >= share * total:
                value = after.bounds[min(position, len(after.bounds) - 1)]
                break
        found[name] = round(value * scale, 6)
    return found
