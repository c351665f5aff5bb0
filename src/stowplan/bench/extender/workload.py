"""Workloads of the extender benchmark, with the required ratios."""

from __future__ import annotations

import msgspec


class ExtenderWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one kind. The limits are ratios to the times of the extender in Go."""

    name: str
    verb: str = "filter"
    nodes: int
    requests: int
    names_only: bool = False
    max_p50_ratio: float
    max_p99_ratio: float


WORKLOADS = {
    workload.name: workload
    for workload in (
        ExtenderWorkload(name="filter-full-1000", nodes=1000, requests=200, max_p50_ratio=0.25, max_p99_ratio=0.25),
        ExtenderWorkload(name="filter-full-5000", nodes=5000, requests=100, max_p50_ratio=0.25, max_p99_ratio=0.25),
        ExtenderWorkload(
            name="filter-names-5000", nodes=5000, requests=400, names_only=True, max_p50_ratio=1.0, max_p99_ratio=1.0
        ),
        ExtenderWorkload(
            name="prioritize-names-5000",
            verb="prioritize",
            nodes=5000,
            requests=400,
            names_only=True,
            max_p50_ratio=1.0,
            max_p99_ratio=1.0,
        ),
    )
}
LEAK = "leak"
"""A thousand requests to Stowplan's extender alone: growth of its memory."""
LEAK_NODES, LEAK_REQUESTS, MAX_LEAKED_MIB = 1000, 1000, 16.0

NAMES = (*WORKLOADS, LEAK)
