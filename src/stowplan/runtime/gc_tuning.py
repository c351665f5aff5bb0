"""Settings of the garbage collector and the heap for a process that schedules."""

from __future__ import annotations

import ctypes
import gc

GC_THRESHOLDS = (50_000, 20, 100)
"""Allocations before the youngest generation is collected, and collections of it before the next older generation
is."""


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
