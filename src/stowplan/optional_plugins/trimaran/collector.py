"""Collection of load metrics: on a thread of its own where a scheduler runs, once where decisions are only simulated.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran/collector.go
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from stowplan import logs
from stowplan.optional_plugins.trimaran.load import LoadError, LoadSnapshot
from stowplan.optional_plugins.trimaran.sources import LoadSource

PERIOD_SECONDS = 30.0

log = logs.get(__name__)


class LoadCollector:
    """The latest metrics of a source.

    In a live scheduler or extender, a daemon thread reads them every 30 seconds, from the first time that they are
    needed; until the first reply there are none. Elsewhere they are read once, at first use.
    """

    def __init__(self, source: LoadSource, *, live: bool, max_age_seconds: float, knows: Callable[[str], bool]) -> None:
        """Metrics older than `max_age_seconds` do not count in a live scheduler (0: they always do). `knows` shows
        whether a node exists."""
        self._source = source
        self._live = live
        self._max_age_seconds = max_age_seconds
        self._knows = knows
        self._latest: LoadSnapshot | None = None
        self._read_at = 0.0
        self._problem: str | None = ""
        """The problem that was logged last; None before the first read."""
        self._started = False
        self._stopped = threading.Event()
        self._clock: Callable[[], float] = lambda: 0.0

    def latest(self, clock: Callable[[], float]) -> LoadSnapshot | None:
        """The metrics to score by; None without any, or if they are stale. `clock` returns seconds since 1970."""
        if not self._started:
            self._started = True
            self._clock = clock
            if self._live:
                threading.Thread(target=_run, args=(weakref.ref(self),), name="load-metrics", daemon=True).start()
            else:
                self.read()
        latest = self._latest
        return None if latest is None or self._is_stale(latest) else latest

    def close(self) -> None:
        """End the thread, at the latest after the read under way."""
        self._stopped.set()

    def _is_stale(self, latest: LoadSnapshot) -> bool:
        if not self._live or not self._max_age_seconds:
            return False
        measured_at = min(latest.window_end or self._read_at, self._read_at)
        return self._clock() - measured_at > self._max_age_seconds

    def read(self) -> None:
        """Read the metrics now. A failure keeps the former ones."""
        try:
            snapshot = self._source.read()
        except LoadError as problem:
            self._report(f"{problem}")
            return
        except Exception as problem:  # Credentials, or a bug: the scheduler goes on without metrics.
            self._report(f"{type(problem).__name__}: {problem}")
            return
        self._read_at = self._clock()
        self._latest = snapshot
        self._report(self._doubts(snapshot))

    def _doubts(self, snapshot: LoadSnapshot) -> str:
        if snapshot.nodes and not any(map(self._knows, snapshot.nodes)):
            first = next(iter(snapshot.nodes))
            return f"no metrics are of a node of the cluster: the first are of {first!r}, names must be those of nodes"
        if snapshot.rejected:
            return f"values that are not percentages are ignored: {snapshot.rejected}"
        if self._is_stale(snapshot):
            return "the metrics are too old to be used"
        return "" if snapshot.nodes else "the source has no metrics of nodes"

    def _report(self, problem: str) -> None:
        """Log a problem once, and its end."""
        if problem == self._problem:
            return
        if problem:
            log.warning("Load metrics have a problem", source=self._source.name, err=problem)
        elif self._problem:
            log.info("Load metrics are available", source=self._source.name)
        self._problem = problem


def _run(reference: weakref.ref[LoadCollector]) -> None:
    """Read until the collector is closed or garbage."""
    while (collector := reference()) is not None:
        collector.read()
        stopped = collector._stopped
        del collector
        if stopped.wait(PERIOD_SECONDS):
            return
