"""The base class of loaders, and the summary of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from stowplan.errors import InputError
from stowplan.traces.records import Arrival, TraceNode
from stowplan.traces.selection import TraceSelection


class TraceSummary(msgspec.Struct, kw_only=True, frozen=True):
    """What a trace contains."""

    loader: str
    nodes: int
    pods: int
    jobs: int
    span_seconds: float
    """Time between the first and the last arrival."""
    offered_load: dict[str, float]
    """By resource: work of all pods with a duration, divided by capacity and span."""
    dropped: dict[str, int]
    """Rows that were left out, by reason."""


class TraceLoader:
    """Reads one format. A subclass sets `name` and `origin`, and overrides `nodes` and `arrivals`.

    `Options` of a subclass extends the options that all loaders have.
    """

    name: ClassVar[str] = ""
    origin: ClassVar[str] = ""
    """Where the trace is described, in one line."""
    Options: ClassVar[type[TraceSelection]] = TraceSelection

    def __init__(self, source: Path, options: Any) -> None:
        self.source = source
        self.options = options
        self.dropped: Counter[str] = Counter()
        """Rows left out by the last pass over `nodes` and `arrivals`, by reason."""

    def nodes(self) -> Iterator[TraceNode]:
        """The nodes of the trace; none where the trace does not describe its cluster."""
        yield from ()

    def arrivals(self) -> Iterator[Arrival]:
        """All arrivals, by time."""
        raise NotImplementedError

    def selected(self) -> Iterator[Arrival]:
        """The arrivals that the options select, by time. Raises InputError for values that no cluster has."""
        options: TraceSelection = self.options
        return options.select(self._checked(self.arrivals()))

    def _checked(self, arrivals: Iterator[Arrival]) -> Iterator[Arrival]:
        for arrival in arrivals:
            problem = arrival.problem()
            if problem:
                raise InputError(f"{self.source}: {arrival.key}: {problem}")
            yield arrival

    def about(self) -> TraceSummary:
        """Count the selected arrivals. Reads the whole trace."""
        self.dropped.clear()
        capacity: Counter[str] = Counter()
        nodes = pods = 0
        for node in self.nodes():
            nodes += 1
            capacity.update(node.allocatable)
        first = last = 0.0
        jobs: set[str] = set()
        work: Counter[str] = Counter()
        for arrival in self.selected():
            first = arrival.time if not pods else first
            last = arrival.time
            pods += arrival.gang
            jobs.add(arrival.job)
            for resource, amount in arrival.requests.items():
                work[resource] += round(amount * arrival.gang * (arrival.duration or 0.0))
        span = last - first
        load = {name: done / capacity[name] / span for name, done in work.items() if span and capacity[name] and done}
        return TraceSummary(
            loader=self.name,
            nodes=nodes,
            pods=pods,
            jobs=len(jobs),
            span_seconds=span,
            offered_load=load,
            dropped=dict(self.dropped),
        )
