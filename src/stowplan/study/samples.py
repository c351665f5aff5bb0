"""Samples of a run at equal intervals: the table `series`, and metrics that are means over samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from stowplan.cache.columns import Floats
from stowplan.cache.nodes import NodeTable
from stowplan.simulator.scenario import ScenarioSimulation
from stowplan.study.metric_value import MetricValue
from stowplan.study.metrics import SAMPLED_RESOURCES, tenant_shares
from stowplan.study.recording import RunRecording


class _NodeAmounts:
    """Amounts of the nodes at a position of the log of node objects."""

    def __init__(self, table: NodeTable) -> None:
        self.version = table.node_log.position
        self._table = table
        slots = np.flatnonzero(table.alive[: table.high])
        self._count = len(slots)
        self._slots: Any = slice(0, table.high) if self._count == table.high else slots
        self._offered: dict[str, Floats] = {}
        self._everywhere: dict[str, bool] = {}

    def offered(self, resource: str) -> Floats:
        found = self._offered.get(resource)
        if found is None:
            found = self._offered[resource] = self._table.allocatable[resource].array[self._slots].copy()
            self._everywhere[resource] = bool((found > 0).all())
        return found

    def everywhere(self, resource: str) -> bool:
        """Whether all nodes offer some of a resource, which was read before."""
        return self._everywhere[resource]

    def requested(self, resource: str) -> Floats:
        held = self._table.requested.get(resource)
        return np.zeros(self._count) if held is None else held.array[self._slots]


def _standard_deviation(values: Floats) -> float:
    """The same as `values.std()`, in half the time for a few thousand values."""
    apart = values - np.add.reduce(values) / len(values)
    apart *= apart
    return math.sqrt(np.add.reduce(apart) / len(values))


class Samples:
    """Takes samples of a simulation."""

    def __init__(self, simulation: ScenarioSimulation, recording: RunRecording, begin: float) -> None:
        """`begin` is the end of the warm-up."""
        self._sums: dict[str, tuple[float, int]] = {}
        self._begin = begin
        self._simulation = simulation
        self._recording = recording
        self._amounts: _NodeAmounts | None = None

    def means(self) -> Iterator[MetricValue]:
        """Means over the samples after the warm-up."""
        for metric, (whole, count) in self._sums.items():
            yield MetricValue(metric, "", whole / count, "")

    def take(self, time: float) -> None:
        """Sample the state at a time, after everything that happened at it."""
        integrals = self._recording.integrals
        add = self._recording.series.append
        for name in ("pending", "running", "nodes", "nodes.used"):
            add((time, name, "", integrals.value(name)))
        for queue, count in self._simulation.simulation.engine.queue_counts().items():
            add((time, "queue", queue, count))
        free: dict[str, Floats] = {}
        nodes = self._nodes()
        for resource in SAMPLED_RESOURCES:
            whole = integrals.value(f"allocatable.{resource}")
            if whole <= 0:
                continue
            add((time, f"utilisation.{resource}", "", round(integrals.value(f"requested.{resource}") / whole, 6)))
            offered, requested = nodes.offered(resource), nodes.requested(resource)
            free[resource] = np.maximum(offered - requested, 0.0)
            if nodes.everywhere(resource):
                self._sample_resource(time, resource, requested / offered, free[resource])
            else:
                has = offered > 0
                self._sample_resource(time, resource, requested[has] / offered[has], free[resource][has])
        requests = self._recording.requested
        for resource, share in requests.fragmentation(free).items():
            self._add(time, f"fragmentation.fgd.{resource}", share)
            self._add(time, f"fragmentation.stranded.{resource}", requests.stranded(resource, free))
        self._sample_shares(time)

    def _nodes(self) -> _NodeAmounts:
        """The nodes as of now; what they offer is read when nodes have changed."""
        table = self._simulation.simulation.engine.cluster.nodes
        if self._amounts is None or self._amounts.version != table.node_log.position:
            self._amounts = _NodeAmounts(table)
        return self._amounts

    def _sample_shares(self, time: float) -> None:
        """The skew over zones, and the spread of the tenants' dominant shares."""
        zones = self._recording.zones
        if len(zones) > 1:
            self._add(time, "spread.skew", float(self._recording.skews.skew(zones)))
        if self._recording.has_tenants:
            shares = tenant_shares(self._recording.integrals.values())
            if len(shares) > 1:
                self._add(time, "fairness.drf", max(shares.values()) - min(shares.values()))

    def _sample_resource(self, time: float, resource: str, used: Floats, free: Floats) -> None:
        """`used` are shares of the nodes that have the resource."""
        if not len(used):
            return
        self._add(time, f"imbalance.{resource}", _standard_deviation(used))
        whole = float(np.add.reduce(free))
        self._add(time, f"fragmentation.largest.{resource}", 1 - float(free.max()) / whole if whole else 0.0)

    def _add(self, time: float, metric: str, value: float) -> None:
        value = round(value, 9)
        self._recording.series.append((time, metric, "", value))
        if time >= self._begin:
            whole, count = self._sums.get(metric, (0.0, 0))
            self._sums[metric] = (whole + value, count + 1)
