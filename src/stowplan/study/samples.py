"""Samples of a run at equal intervals: the table `series`, and metrics that are means over samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stowplan.cache.columns import Floats
from stowplan.simulator.scenario import ScenarioSimulation
from stowplan.study.metric_value import MetricValue
from stowplan.study.metrics import SAMPLED_RESOURCES, tenant_shares
from stowplan.study.recording import RunRecording


class Samples:
    """Takes samples of a simulation."""

    def __init__(self, simulation: ScenarioSimulation, recording: RunRecording, begin: float) -> None:
        """`begin` is the end of the warm-up."""
        self._sums: dict[str, tuple[float, int]] = {}
        self._begin = begin
        self._simulation = simulation
        self._recording = recording

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
        nodes = self._simulation.simulation.engine.cluster.nodes
        free: dict[str, Floats] = {}
        slots = np.flatnonzero(nodes.alive[: nodes.high])
        for resource in SAMPLED_RESOURCES:
            whole = integrals.value(f"allocatable.{resource}")
            if whole <= 0:
                continue
            add((time, f"utilisation.{resource}", "", round(integrals.value(f"requested.{resource}") / whole, 6)))
            offered = nodes.allocatable[resource].array[slots]
            held = nodes.requested.get(resource)
            requested = np.zeros(len(slots)) if held is None else held.array[slots]
            self._sample_resource(time, resource, offered, requested)
            free[resource] = np.maximum(offered - requested, 0.0)
        requests = self._recording.requested
        for resource, share in requests.fragmentation(free).items():
            self._add(time, f"fragmentation.fgd.{resource}", share)
            self._add(time, f"fragmentation.stranded.{resource}", requests.stranded(resource, free))
        self._sample_shares(time)

    def _sample_shares(self, time: float) -> None:
        """The skew over zones, and the spread of the tenants' dominant shares."""
        zones = self._recording.zones
        if len(zones) > 1:
            self._add(time, "spread.skew", float(self._recording.skews.skew(zones)))
        shares = tenant_shares(self._recording.integrals.values())
        if len(shares) > 1:
            self._add(time, "fairness.drf", max(shares.values()) - min(shares.values()))

    def _sample_resource(self, time: float, resource: str, offered: Floats, requested: Floats) -> None:
        has = offered > 0
        if not has.any():
            return
        ratio = requested[has] / offered[has]
        free = np.maximum(offered[has] - requested[has], 0.0)
        self._add(time, f"imbalance.{resource}", float(ratio.std()))
        whole = float(free.sum())
        self._add(time, f"fragmentation.largest.{resource}", 1 - float(free.max()) / whole if whole else 0.0)

    def _add(self, time: float, metric: str, value: float) -> None:
        value = round(value, 9)
        self._recording.series.append((time, metric, "", value))
        if time >= self._begin:
            whole, count = self._sums.get(metric, (0.0, 0))
            self._sums[metric] = (whole + value, count + 1)
