"""Latency: pods arrive at constant rates, and the time from the creation of each to its binding is measured.

The rates are shares of the ceiling: the rate at which a client that decides nothing binds pods. A scheduler gets all
rates one after the other, on a control plane of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from stowplan.bench.cluster.binding_watch import PODS, BindingWatch
from stowplan.bench.cluster.bulk import send_all
from stowplan.bench.cluster.schedulers import SCHEDULERS
from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS, UPPER_BOUND
from stowplan.bench.result import encode
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.write_client import Writer, WriteRequest
from stowplan.testing import ADMIN, ControlPlane

CEILING_PODS = 2_000
"""Pods that are bound to measure the ceiling."""
WARM_PODS = 100
BIND_TIMEOUT_SECONDS = 120.0

_CONNECTIONS = 16
_MAX_OUTSTANDING_WRITES = 64
_SUCCESS = 300
_SETTLE_SECONDS = 2.0

Progress = Callable[[str], None]


class LatencySize(NamedTuple):
    """The size of the measurement."""

    nodes: int = 1000
    seconds: int = 10
    percents: tuple[int, ...] = (10, 50, 90)
    """The rates, in percent of the ceiling."""


class LatencyFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds from the creation of a pod to its binding, at one rate."""

    percent: int
    pods: int
    p50_ms: float
    p99_ms: float
    max_ms: float


class LatencyReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`."""

    scenario: str
    size: LatencySize
    ceiling: float
    """Pods per second."""
    figures: dict[str, list[LatencyFigures]]

    @property
    def ratios(self) -> dict[str, float]:
        """Stowplan's p99 divided by kube-scheduler's, by percent of the ceiling, if both were measured."""
        if not {OURS, KUBE_SCHEDULER} <= self.figures.keys():
            return {}
        pairs = zip(self.figures[OURS], self.figures[KUBE_SCHEDULER], strict=True)
        return {f"p99_ms at {ours.percent}%": ours.p99_ms / peer.p99_ms for ours, peer in pairs}

    def to_json(self) -> bytes:
        fields: dict[str, Any] = {"scenario": self.scenario, **self.size._asdict(), "ceiling": self.ceiling}
        return encode(fields | {"schedulers": msgspec.to_builtins(self.figures), "ratios": self.ratios})


def measure_latency(size: LatencySize, schedulers: Sequence[str], progress: Progress) -> LatencyReport:
    """Measure the ceiling, then each scheduler."""
    ceiling = _measure_ceiling(size)
    progress(f"{UPPER_BOUND}: {ceiling:,.0f} pods/s")
    figures = {}
    for name in schedulers:
        found = figures[name] = _on_control_plane(size, name, lambda run: _measure_rates(run, size, ceiling))
        times = ", ".join(f"{each.p99_ms:,.1f} ms at {each.percent}%" for each in found)
        progress(f"{name}: p99 {times}")
    return LatencyReport(scenario="latency", size=size, ceiling=ceiling, figures=figures)


class LatencyRun:
    """A scheduler that runs, and pods that are created for it."""

    def __init__(self, connection: Connection, watch: BindingWatch) -> None:
        self._connection = connection
        self._watch = watch

    def create(self, prefix: str, count: int, rate: float | None) -> list[float]:
        """Create pods, at a rate or as fast as possible; returns the seconds from creation to binding, in the order of
        the bindings."""
        created = asyncio.run(_create(self._connection, prefix, count, rate))
        self._watch.wait(prefix, count, BIND_TIMEOUT_SECONDS)
        return seconds_to_bind(created, {each.name: each.at for each in self._watch.bindings})


def seconds_to_bind(created: Mapping[str, float], bound: Mapping[str, float]) -> list[float]:
    """Seconds from the creation to the binding of each pod that is bound."""
    return [max(bound[name] - at, 0.0) for name, at in created.items() if name in bound]


def figures_of(percent: int, seconds: Sequence[float]) -> LatencyFigures:
    ordered = sorted(seconds)
    return LatencyFigures(
        percent=percent,
        pods=len(ordered),
        p50_ms=median(ordered) * 1000,
        p99_ms=ordered[len(ordered) * 99 // 100] * 1000,
        max_ms=ordered[-1] * 1000,
    )


def _on_control_plane(size: LatencySize, name: str, measure: Callable[[LatencyRun], Any]) -> Any:
    with ControlPlane(throughput=True) as plane, plane.client(timeout=300.0) as api:
        connection = load_connection(str(plane.kubeconfig(ADMIN)))
        send_all(connection, ((b"POST", b"/api/v1/nodes", node_body(number)) for number in range(size.nodes)))
        with SCHEDULERS[name](plane), BindingWatch(plane, api) as watch:
            run = LatencyRun(connection, watch)
            run.create("warm-", WARM_PODS, None)
            return measure(run)


def _measure_ceiling(size: LatencySize) -> float:
    """Bindings per second of a client that decides nothing."""
    with ControlPlane(throughput=True) as plane, plane.client(timeout=300.0) as api:
        connection = load_connection(str(plane.kubeconfig(ADMIN)))
        send_all(connection, ((b"POST", b"/api/v1/nodes", node_body(number)) for number in range(size.nodes)))
        pods = (pod_body(f"ceiling-{number}") for number in range(CEILING_PODS))
        send_all(connection, ((b"POST", PODS.encode(), body) for body in pods))
        with BindingWatch(plane, api) as watch, SCHEDULERS[UPPER_BOUND](plane):
            watch.wait("ceiling-", CEILING_PODS, BIND_TIMEOUT_SECONDS)
        return CEILING_PODS / (watch.bindings[-1].at - watch.bindings[0].at)


def _measure_rates(run: LatencyRun, size: LatencySize, ceiling: float) -> list[LatencyFigures]:
    found = []
    for percent in size.percents:
        rate = ceiling * percent / 100
        sleep(_SETTLE_SECONDS)
        found.append(figures_of(percent, run.create(f"at-{percent}-", max(int(rate * size.seconds), 1), rate)))
    return found


# Objects
def node_body(number: int) -> bytes:
    amounts = {"cpu": "2000", "memory": "8Ti", "pods": "20000"}  # Pods of all rates fit.
    meta = {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}).encode()


def pod_body(name: str) -> bytes:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    meta = {"name": name, "labels": {"app": "latency"}}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}
    ).encode()


async def _create(connection: Connection, prefix: str, count: int, rate: float | None) -> dict[str, float]:
    """Create pods; returns when each was sent."""
    writer = Writer(connection, connections=_CONNECTIONS)
    created: dict[str, float] = {}
    refused: list[ClusterError] = []
    due = monotonic()
    try:
        for number in range(count):
            if rate is not None:
                due += 1 / rate
                await asyncio.sleep(max(due - monotonic(), 0.0))
            while writer.outstanding >= _MAX_OUTSTANDING_WRITES:
                await asyncio.sleep(0.001)
            name = f"{prefix}{number}"
            created[name] = monotonic()
            writer.submit(_CreatePod(name, refused))
    finally:
        await writer.drain(BIND_TIMEOUT_SECONDS)
    if refused:
        raise refused[0]
    return created


class _CreatePod(WriteRequest):
    __slots__ = ("_refused",)

    def __init__(self, name: str, refused: list[ClusterError]) -> None:
        super().__init__(b"POST", PODS.encode(), pod_body(name))
        self._refused = refused

    def replied(self, status: int, body: bytes) -> None:
        if status >= _SUCCESS:
            self._refused.append(ApiError.from_reply(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._refused.append(error)
