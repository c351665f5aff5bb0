"""What extenders are asked, and how fast ours has to be."""

from __future__ import annotations

import msgspec


class ExtenderWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one kind. The bars are shares of the rival's times."""

    name: str
    verb: str = "filter"
    nodes: int
    requests: int
    names_only: bool = False
    most_p50: float
    most_p99: float


WORKLOADS = {
    workload.name: workload
    for workload in (
        ExtenderWorkload(name="filter-full-1000", nodes=1000, requests=200, most_p50=0.25, most_p99=0.25),
        ExtenderWorkload(name="filter-full-5000", nodes=5000, requests=100, most_p50=0.25, most_p99=0.25),
        ExtenderWorkload(
            name="filter-names-5000", nodes=5000, requests=400, names_only=True, most_p50=1.0, most_p99=1.0
        ),
        ExtenderWorkload(
            name="prioritize-names-5000",
            verb="prioritize",
            nodes=5000,
            requests=400,
            names_only=True,
            most_p50=1.0,
            most_p99=1.0,
        ),
    )
}
LEAK = "leak"
"""A thousand requests in a row to ours alone: how much memory that leaves behind."""
LEAK_NODES, LEAK_REQUESTS, MOST_LEAKED_MIB = 1000, 1000, 16.0

NAMES = (*WORKLOADS, LEAK)
