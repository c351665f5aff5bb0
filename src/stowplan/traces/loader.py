"""The base class of loaders, and the summary of a trace."""

from __future__ import annotations

import inspect
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from stowplan.errors import InputError, PluginBugError, StowplanError
from stowplan.traces.records import Arrival, TraceNode
from stowplan.traces.selection import TraceSelection


class TraceSummary(msgspec.Struct, kw_only=True, frozen=True):
    """What a trace contains."""

    loader: str
    origin: str
    """Where the trace is described."""
    nodes: int
    pods: int
    jobs: int
    span_seconds: float
    """Time between the first and the last arrival."""
    offered_load: dict[str, float]
    """By resource: work of all pods with a duration, divided by capacity and span."""
    dropped: dict[str, int]
    """Rows that were left out, by reason."""


@contextmanager
def reported(subject: str, file: str = "") -> Iterator[None]:
    """Turns exceptions of a loader's code into a PluginBugError of one line, which names the line in its file."""
    try:
        yield
    except StowplanError:
        raise
    except (Exception, SystemExit) as problem:
        lines = [entry.lineno for entry in traceback.extract_tb(problem.__traceback__) if entry.filename == file]
        place = f" ({Path(file).name}:{lines[-1]})" if lines else ""
        text = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise PluginBugError(f"{subject}: raised {text}{place}") from problem


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

    def checked_nodes(self) -> Iterator[TraceNode]:
        """The nodes. Raises InputError for values that no cluster has, PluginBugError for exceptions of the loader."""
        with self._reported():
            for node in self.nodes():
                if problem := node.problem():
                    raise InputError(f"{self.source}: node {node.name}: {problem}")
                yield node

    def arrivals(self) -> Iterator[Arrival]:
        """All arrivals, by time."""
        raise NotImplementedError

    def selected(self) -> Iterator[Arrival]:
        """The arrivals that the options select, by time. Raises errors as `checked_nodes` does."""
        options: TraceSelection = self.options
        return options.select(self._checked(self.arrivals()))

    def _checked(self, arrivals: Iterator[Arrival]) -> Iterator[Arrival]:
        latest = 0.0
        with self._reported():
            for arrival in arrivals:
                problem = arrival.problem()
                if arrival.time < latest:
                    problem = problem or f"times run backwards, {arrival.time:g} after {latest:g}"
                latest = arrival.time
                if problem:
                    raise InputError(f"{self.source}: {arrival.key}: {problem}")
                yield arrival

    def _reported(self) -> Any:
        kind = type(self)
        return reported(f"trace loader {kind.name or kind.__name__}", inspect.getfile(kind))

    def about(self) -> TraceSummary:
        """Count the selected arrivals. Reads the whole trace."""
        self.dropped.clear()
        capacity: Counter[str] = Counter()
        nodes = pods = 0
        for node in self.checked_nodes():
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
            origin=self.origin,
            nodes=nodes,
            pods=pods,
            jobs=len(jobs),
            span_seconds=span,
            offered_load=load,
            dropped=dict(self.dropped),
        )
