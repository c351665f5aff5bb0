"""What there is to see of a cluster at a moment."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from stowplan import api
from stowplan.cache.nodes import NodeTable
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.demo.recent_events import RecentEvent
from stowplan.simulator.demo.scenario import POOL, ZONE
from stowplan.simulator.demo.scenario_run import ScenarioRun

_WATCHED = ("cpu", "memory")
"""A node is as full as the scarcest of these, or as its devices are taken."""

_MOST = 10


class Zone(NamedTuple):
    """The nodes of a zone by pool, each by how full it is, from 0 to 1."""

    name: str
    pools: dict[str, list[float]]
    cpu: float
    """The part of the zone's CPU that is requested."""


class ClusterSummary(NamedTuple):
    """One moment."""

    elapsed: float
    zones: list[Zone]
    nodes: int
    pods: int
    """On nodes, those being bound included."""
    queues: dict[str, int]
    reasons: list[tuple[str, int]]
    """Why pods wait: what most nodes were refused for, and how many pods that holds of."""
    entries: list[RecentEvent]
    decisions: int
    placed: int
    evicted: int
    rate: float
    """Decisions a second, while there were any to make."""

    @classmethod
    def of(cls, stage: ScenarioRun, rate: float) -> ClusterSummary:
        engine = stage.simulation.engine
        recorder = stage.recorder
        return cls(
            elapsed=stage.elapsed,
            zones=_zones(engine.cluster.nodes, devices_taken(stage.simulation.api_server)),
            nodes=len(engine.cluster.nodes),
            pods=len(engine.cluster.pods),
            queues=engine.queue_counts(),
            reasons=_reasons(stage).most_common(_MOST),
            entries=list(stage.feed.entries)[-_MOST:],
            decisions=recorder.decisions,
            placed=recorder.bindings,
            evicted=len(recorder.evictions),
            rate=rate,
        )


def _zones(nodes: NodeTable, devices: dict[str, float]) -> list[Zone]:
    columns = [nodes.resource(name) for name in _WATCHED]
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
    """Of nodes that have devices, the part that claims hold."""
    allocations = (claim.status.allocation for claim in api_server.all(api.ResourceClaim))
    held = Counter(result.pool for each in allocations if each is not None for result in each.devices.results)
    return {
        item.spec.node_name: held[item.spec.pool.name] / len(item.spec.devices)
        for item in api_server.all(api.ResourceSlice)
        if item.spec.node_name and item.spec.devices
    }


def _reasons(stage: ScenarioRun) -> Counter[str]:
    last_attempts = stage.recorder.last_attempts
    found: Counter[str] = Counter()
    for queued in stage.simulation.engine.queued_pods("active", "backoff", "unschedulable"):
        last = last_attempts.get(queued.pod.uid)
        if last is not None and last.diagnosis is not None:
            found[last.diagnosis.main_reason] += 1
    return found
