"""Settings of the garbage collector and the heap for a process that schedules."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from time import monotonic, thread_time

GC_THRESHOLDS = (50_000, 20, 100)
"""Allocations before the youngest generation is collected, and collections of it before the next older generation
is."""

LOADING_GC_THRESHOLDS = (1_000_000, 20, 100)
"""The same while a cluster is loaded. With Python's defaults, collections take a fifth of that time."""

MIN_COLLECTION_INTERVAL_SECONDS = 60.0
MAX_BUSY_SECONDS = 600.0
"""Time after which a collection does not wait for an idle moment any longer."""
MAX_COLLECTION_SHARE = 0.002
"""Share of the time for collections. Their CPU time counts: where processes compete for processors, a collection would
seem long, and memory be returned late."""


class IdleCollector:
    """Collects all generations when the process is idle.

    With `GC_THRESHOLDS` the collector itself hardly ever does. Exceptions of failed requests and closed connections are
    in reference cycles; a TLS connection has 256 KiB of buffers. `free_unused` empties tables and caches before: Python
    frees memory by arenas of 1 MiB, and one small object of a large pod that is long gone keeps a whole arena.
    """

    def __init__(
        self,
        free_unused: Callable[[], None],
        clock: Callable[[], float] = monotonic,
        cpu_clock: Callable[[], float] = thread_time,
        collect: Callable[[], object] = gc.collect,
    ) -> None:
        self._free_unused = free_unused
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._collect = collect
        self._due = clock() + MIN_COLLECTION_INTERVAL_SECONDS

    def seconds_left(self) -> float:
        """Seconds until the next collection of an idle process is due. Without events nothing else would wake it, and
        what the last ones left behind would stay."""
        return max(0.0, self._due - self._clock())

    def run(self, *, idle: bool) -> None:
        """Collect, if it is time for it. Called often."""
        if self._clock() < (self._due if idle else self._due + MAX_BUSY_SECONDS):
            return
        began = self._cpu_clock()
        self._free_unused()
        self._collect()
        trim_heap()
        seconds = self._cpu_clock() - began
        self._due = self._clock() + max(MIN_COLLECTION_INTERVAL_SECONDS, seconds / MAX_COLLECTION_SHARE)


def collect_rarely() -> None:
    """Call before the cluster is loaded, which hardly creates reference cycles."""
    gc.set_threshold(*LOADING_GC_THRESHOLDS)


def settle_heap() -> None:
    """Call once the cluster is loaded. The cache stays, so the collector does not have to traverse it.

    Decisions create few reference cycles, so the young generation may grow beyond the default.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def trim_heap() -> None:
    """Return free pages to the system. Call after a list of large objects, of which glibc would keep most.

    Without glibc nothing happens.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
