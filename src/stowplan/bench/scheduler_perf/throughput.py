"""Throughput as the suite defines it: the mean of one sample a second.

Upstream: test/integration/scheduler_perf/util.go (throughputCollector)
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from statistics import fmean
from time import monotonic

from stowplan.bench.scheduler_perf.bound_pods import BoundPods, Labels

SAMPLE_INTERVAL_SECONDS = 1.0


class ThroughputSamples:
    """Samples of bindings per second. The first tick with a bound pod starts the measurement; ticks without a new pod
    extend the interval of the next sample, which is recorded once for each second of it."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._last: tuple[float, int] | None = None
        self._skipped = 0

    def tick(self, now: float, bound: int) -> None:
        """Add the number of pods that are bound so far."""
        if not bound:
            return
        if self._last is None:
            self._last = now, bound
            return
        since, before = self._last
        if bound == before:
            self._skipped += 1
            return
        self.values += [(bound - before) / (now - since)] * (self._skipped + 1)
        self._last, self._skipped = (now, bound), 0

    @property
    def average(self) -> float | None:
        """None if the measurement took less than two ticks with bound pods."""
        return fmean(self.values) if self.values else None


class ThroughputCollector:
    """Samples the bindings of some namespaces on a thread."""

    def __init__(self, bound: BoundPods, namespaces: Collection[str], selector: Labels) -> None:
        self.samples = ThroughputSamples()
        self.pods = 0
        self._bound = bound
        self._namespaces = frozenset(namespaces)
        self._selector = selector
        self._position = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="throughput-collector", daemon=True)
        self.before, self._position = bound.bindings(self._namespaces, selector)
        self._thread.start()

    def stop(self) -> None:
        """Ends the measurement; `pods` are those bound in it."""
        self._over.set()
        self._thread.join()
        self._advance()

    def _run(self) -> None:
        due = monotonic()
        while True:
            due += SAMPLE_INTERVAL_SECONDS
            if self._over.wait(max(due - monotonic(), 0)):
                return
            self._advance()
            self.samples.tick(monotonic(), self.before + self.pods)

    def _advance(self) -> None:
        new, self._position = self._bound.bindings(self._namespaces, self._selector, self._position)
        self.pods += new
