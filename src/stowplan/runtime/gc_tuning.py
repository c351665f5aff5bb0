"""The garbage collector in a process that schedules."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 100
"""Allocations before the youngest generation is looked at, and how many rounds of it before the older ones are."""


def settle_heap() -> None:
    """Call once the cluster is loaded: it stays, so the collector need not walk it again and again.

    Decisions make hardly any cycles, hence the young generation may grow larger than the default of some hundreds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
