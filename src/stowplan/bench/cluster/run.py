"""One contestant at work on one workload."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from statistics import median, median_low
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from stowplan.bench.cluster.attempts import attempt_quantile
from stowplan.bench.cluster.bound_pod_watch import BoundPodWatch
from stowplan.bench.cluster.contestants import CONTESTANTS, Contestant
from stowplan.bench.cluster.control_plane import PODS, BenchControlPlane
from stowplan.bench.cluster.machine import busy_seconds
from stowplan.testing import ADMIN, cpu_seconds, rss_mib
from stowplan.testing.kube_scheduler import parse_samples

PATIENCE = 600.0
"""Seconds until the last pod has to be bound."""

_LOOK_EVERY = 0.05
_QUIET_LOOKS = 10


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one contestant. The clock runs from the first sign of work to the last write."""

    per_second: float
    cpu_us_per_pod: float
    p50_us: float | None = None
    """Of an attempt to schedule, from the queue to the binding, where the contestant tells."""
    p99_us: float | None = None
    rss_mib: float
    """At the end."""
    first_bind_s: float
    """Seconds from the start of the process to the first sign of work."""
    binds_per_second: float
    """The rate from the first sign of work to the last bind, whatever of the events was left to be written."""
    events: int
    control_plane_us_per_pod: float
    """CPU of API server and etcd together."""
    others_cpu_share: float
    """The share of the machine's CPU time that went to others than contestant and control plane. Where it is not small,
    the rates say little: contestants suffer from it in different measure."""


class Reading(NamedTuple):
    """A moment: the clock, and the CPU seconds that contestant, control plane and all together have used so far."""

    at: float
    cpu: float
    plane_cpu: float
    machine_cpu: float


def run_heat(arena: BenchControlPlane, name: str, count: int) -> Figures:
    """Start a contestant where `count` pods wait, and measure it until they are bound and their events are written."""
    events, version, plane = arena.events(), arena.version(), arena.control_plane
    started = monotonic()
    with CONTESTANTS[name](plane) as contestant:
        process = contestant.process

        def read() -> Reading:
            return Reading(monotonic(), cpu_seconds(process.pid), arena.cpu_seconds(), busy_seconds())

        tally = BoundPodWatch(PODS, version, count, read)
        tally.open(plane.url, plane.tls(), ADMIN.token)
        try:
            first, last = tally.wait(PATIENCE, lambda: process.alive)
        finally:
            tally.close()
        written, end = _until_written(arena, read, last)
        p50, p99 = _attempt_times(arena, contestant)
        return Figures(
            **rates(count, first, last, end),
            p50_us=p50,
            p99_us=p99,
            rss_mib=rss_mib(process.pid),
            first_bind_s=first.at - started,
            events=written - events,
        )


def rates(count: int, first: Reading, last: Reading, end: Reading) -> dict[str, float]:
    """What follows from the readings at the first sign of work, at the last bind, and at the last write."""
    took = max(end.at - first.at, _LOOK_EVERY)
    cpu, plane = end.cpu - first.cpu, end.plane_cpu - first.plane_cpu
    others = max(end.machine_cpu - first.machine_cpu - cpu - plane, 0.0) / took / (os.cpu_count() or 1)
    return {
        "per_second": count / took,
        "binds_per_second": count / max(last.at - first.at, _LOOK_EVERY),
        "cpu_us_per_pod": cpu / count * 1e6,
        "control_plane_us_per_pod": plane / count * 1e6,
        "others_cpu_share": others,
    }


def median_of(rounds: Sequence[Figures]) -> Figures:
    """Of each figure the median, for the machine may be faster in one round than in another."""
    tables = [msgspec.structs.asdict(figures) for figures in rounds]
    middle: dict[str, Any] = {}
    for field in tables[0]:
        told = [table[field] for table in tables if table[field] is not None]
        middle[field] = (median_low if field == "events" else median)(told) if told else None
    return Figures(**middle)


def _until_written(arena: BenchControlPlane, read: Callable[[], Reading], last: Reading) -> tuple[int, Reading]:
    """Wait until no more events come: how many there are then, and when the last of them was found."""
    written, end, quiet = arena.events(), last, 0
    while quiet < _QUIET_LOOKS:
        sleep(_LOOK_EVERY)
        quiet += 1
        if (found := arena.events()) != written:
            written, end, quiet = found, read(), 0
    return written, end


def _attempt_times(arena: BenchControlPlane, contestant: Contestant) -> tuple[float | None, float | None]:
    """The median and the 99th percentile of an attempt, in microseconds, if the contestant tells."""
    if not contestant.url:
        return None, None
    with arena.control_plane.client(ADMIN, server=contestant.url) as client:
        samples = parse_samples(str(client.request("GET", "/metrics")["message"]))
    median, high = (attempt_quantile(samples, share) for share in (0.5, 0.99))
    return median and median * 1e6, high and high * 1e6
