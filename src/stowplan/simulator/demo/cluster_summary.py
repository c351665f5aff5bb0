"""The state of the cluster that the demo shows."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from stowplan import api
from stowplan.cache.nodes import NodeTable
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.demo.recent_events import RecentEvent
from stowplan.simulator.demo.scenario import POOL, ZONE
from stowplan.simulator.demo.scenario_run import ScenarioRun

_SHOWN_RESOURCES = ("cpu", "memory")
"""The fill of a node is the highest use of these resources and of its devices."""

_MAX_LINES = 10


class Zone(NamedTuple):
    """The nodes of a zone: by pool, the fill of each node from 0 to 1."""

    name: str
    pools: dict[str, list[float]]
    cpu: float
    """The requested share of the zone's CPU."""


class ClusterSummary(NamedTuple):
    """The cluster at one time."""

    elapsed: float
    zones: list[Zone]
    nodes: int
    pods: int
    """Assigned and assumed pods."""
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
    def of(cls, run: ScenarioRun, rate: float) -> ClusterSummary:
        engine = run.simulation.engine
        recorder = run.recorder
        return cls(
            elapsed=run.elapsed,
            zones=_zones(engine.cluster.nodes, devices_taken(run.simulation.api_server)),
            nodes=len(engine.cluster.nodes),
            pods=len(engine.cluster.pods),
            queues=engine.queue_counts(),
            reasons=_reasons(run).most_common(_MAX_LINES),
            entries=list(run.events.entries)[-_MAX_LINES:],
            decisions=recorder.decisions,
            placed=recorder.bindings,
            evicted=len(recorder.evictions),
            rate=rate,
        )


def _zones(nodes: NodeTable, devices: dict[str, float]) -> list[Zone]:
    columns = [nodes.resource(name) for name in _SHOWN_RESOURCES]
    fills: dict[str, dict[str, list[float]]] = {}
    cpu: dict[str, list[int]] = {}
    for info in sorted(nodes, key=lambda info: info.slot):
        zone, pool = info.labels[ZONE], info.labels[POOL]
        shares = [
            requested.values[info.slot] / allocatable.values[info.slot]
            for allocatable, requested in columns
            if allocatable.values[info.slot]
        ]
        fill = max((*shares, devices.get(info.name, 0.0)))
        fills.setdefault(zone, {}).setdefault(pool, []).append(fill)
        total = cpu.setdefault(zone, [0, 0])
        total[0] += columns[0][1].values[info.slot]
        total[1] += columns[0][0].values[info.slot]
    return [Zone(name, pools, cpu[name][0] / max(1, cpu[name][1])) for name, pools in sorted(fills.items())]


def devices_taken(api_server: ApiServer) -> dict[str, float]:
    """By node with devices, the allocated share."""
    allocations = (claim.status.allocation for claim in api_server.all(api.ResourceClaim))
    held = Counter(result.pool for each in allocations if each is not None for result in each.devices.results)
    return {
        item.spec.node_name: held[item.spec.pool.name] / len(item.spec.devices)
        for item in api_server.all(api.ResourceSlice)
        if item.spec.node_name and item.spec.devices
    }


def _reasons(run: ScenarioRun) -> Counter[str]:
    last_attempts = run.recorder.last_attempts
    found: Counter[str] = Counter()
    for queued in run.simulation.engine.queued_pods("active", "backoff", "unschedulable"):
        last = last_attempts.get(queued.pod.uid)
        if last is not None and last.diagnosis is not None:
            found[last.diagnosis.main_reason] += 1
    return found
