"""The state of the cluster that the view shows."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from stowplan.simulator.watch.node_cells import Zone, accelerators, devices_of
from stowplan.simulator.watch.recent_events import RecentEvent
from stowplan.simulator.watch.watched_run import WatchedRun

_MAX_LINES = 10


class ClusterSummary(NamedTuple):
    """The cluster at one time."""

    title: str
    elapsed: float
    zones: list[Zone]
    nodes: int
    pods: int
    """Assigned and assumed pods."""
    gpus: tuple[int, int]
    """(requested, allocatable)."""
    queues: dict[str, int]
    reasons: list[tuple[str, int]]
    """The main reasons of pending pods, with the number of pods."""
    entries: list[RecentEvent]
    decisions: int
    placed: int
    evicted: int
    rate: float
    """Decisions per second of work."""

    @classmethod
    def of(cls, run: WatchedRun, rate: float) -> ClusterSummary:
        engine = run.simulation.engine
        recorder = run.recorder
        nodes, devices = engine.cluster.nodes, devices_of(run.simulation.api_server)
        return cls(
            title=run.title,
            elapsed=run.elapsed,
            zones=run.cells.zones(nodes, devices),
            nodes=len(nodes),
            pods=len(engine.cluster.pods),
            gpus=accelerators(nodes, devices),
            queues=engine.queue_counts(),
            reasons=_reasons(run).most_common(_MAX_LINES),
            entries=list(run.events.entries)[-_MAX_LINES:],
            decisions=recorder.decisions,
            placed=recorder.bindings,
            evicted=len(recorder.evictions),
            rate=rate,
        )


def _reasons(run: WatchedRun) -> Counter[str]:
    last_attempts = run.recorder.last_attempts
    found: Counter[str] = Counter()
    for queued in run.simulation.engine.queued_pods("active", "backoff", "unschedulable"):
        last = last_attempts.get(queued.pod.uid)
        if last is not None and last.diagnosis is not None:
            found[last.diagnosis.main_reason] += 1
    return found
