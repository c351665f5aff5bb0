"""One run: a scheduler schedules the pods of a workload, and is measured."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from math import inf, isinf
from statistics import median, median_low
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from stowplan.bench.cluster.bound_pod_watch import BoundPodWatch
from stowplan.bench.cluster.control_plane import PODS, BenchControlPlane
from stowplan.bench.cluster.schedulers import SCHEDULERS, BenchScheduler
from stowplan.bench.cluster.workload import ClusterWorkload
from stowplan.bench.machine import busy_seconds
from stowplan.testing import ADMIN, cpu_seconds, rss_mib
from stowplan.testing.kube_scheduler import parse_samples

BIND_TIMEOUT_SECONDS = 600.0
"""Time limit until the last pod is bound."""

_EVENT_POLL_SECONDS = 0.05
_QUIET_POLLS = 10
_IDLE_SECONDS = 5.0
"""Time for which an idle scheduler is observed."""

_BUCKET = re.compile(r'scheduler_scheduling_attempt_duration_seconds_bucket\{.*\ble="([^"]+)".*\}')
_SCHEDULED = 'result="scheduled"'
_ATTEMPTS = "scheduler_schedule_attempts_total{"
_UNSCHEDULABLE = 'result="unschedulable"'
_VICTIMS = "scheduler_preemption_victims_sum"

_COUNTS = ("events", "unschedulable_attempts", "victims")
"""Figures that are whole numbers."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one scheduler. Time is measured from the first event of the watch to the last write."""

    per_second: float
    cpu_us_per_pod: float
    p50_us: float | None = None
    """Of a scheduling attempt, from the queue to the binding, by the scheduler's metrics."""
    p99_us: float | None = None
    rss_mib: float
    """At the end."""
    first_bind_s: float
    """Seconds from the start of the process to the first event of the watch."""
    binds_per_second: float
    """The rate until the last binding, without the events that are written after it."""
    events: int
    unschedulable_attempts: int | None = None
    """Attempts that found no node, by the scheduler's metrics."""
    victims: int | None = None
    """Pods that preemptions chose to evict, by the scheduler's metrics."""
    control_plane_us_per_pod: float
    """CPU of API server and etcd together."""
    idle_cpu_share: float | None = None
    """CPU time of the scheduler per second after the last write, if the workload has a bar for it."""
    others_cpu_share: float
    """Share of the machine's CPU time that other processes used. If it is not small, rates are not comparable."""


class Reading(NamedTuple):
    """A point in time with the CPU seconds so far of scheduler, control plane and whole machine."""

    at: float
    cpu: float
    plane_cpu: float
    machine_cpu: float


def run_scheduler(control_plane: BenchControlPlane, workload: ClusterWorkload, name: str, count: int) -> Figures:
    """Start a scheduler where `count` pods wait, and measure it until they and the pods that arrive meanwhile are bound
    and their events are written."""
    arriving = workload.arriving
    count += arriving.count if arriving else 0
    events, version, plane = control_plane.events(), control_plane.version(), control_plane.control_plane
    started = monotonic()
    with SCHEDULERS[name](plane, flags=workload.flags) as scheduler:
        process = scheduler.process

        def read() -> Reading:
            return Reading(monotonic(), cpu_seconds(process.pid), control_plane.cpu_seconds(), busy_seconds())

        watch = BoundPodWatch(PODS, version, count, read)
        watch.open(plane.url, plane.tls(), ADMIN.token)
        try:
            if arriving is not None:
                watch.wait_first(BIND_TIMEOUT_SECONDS)
                control_plane.create_arriving(arriving)
            first, last = watch.wait(BIND_TIMEOUT_SECONDS, lambda: process.alive)
        finally:
            watch.close()
        written, end = _until_written(control_plane, read, last)
        is_observed = workload.bars.idle_cpu_share is not None
        return Figures(
            **rates(count, first, last, end),
            **_metric_figures(control_plane, scheduler),
            rss_mib=rss_mib(process.pid),
            first_bind_s=first.at - started,
            events=written - events,
            idle_cpu_share=_idle_cpu_share(process.pid) if is_observed else None,
        )


def _idle_cpu_share(pid: int) -> float:
    before, started = cpu_seconds(pid), monotonic()
    sleep(_IDLE_SECONDS)
    return (cpu_seconds(pid) - before) / (monotonic() - started)


def rates(count: int, first: Reading, last: Reading, end: Reading) -> dict[str, Any]:
    """Rates from the readings at the first event, the last binding and the last write."""
    took = max(end.at - first.at, _EVENT_POLL_SECONDS)
    cpu, plane = end.cpu - first.cpu, end.plane_cpu - first.plane_cpu
    others = max(end.machine_cpu - first.machine_cpu - cpu - plane, 0.0) / took / (os.cpu_count() or 1)
    return {
        "per_second": count / took,
        "binds_per_second": count / max(last.at - first.at, _EVENT_POLL_SECONDS),
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
        middle[field] = (median_low if field in _COUNTS else median)(told) if told else None
    return Figures(**middle)


def _until_written(control_plane: BenchControlPlane, read: Callable[[], Reading], last: Reading) -> tuple[int, Reading]:
    """Wait until no more events come: how many there are then, and when the last of them was found."""
    written, end, quiet = control_plane.events(), last, 0
    while quiet < _QUIET_POLLS:
        sleep(_EVENT_POLL_SECONDS)
        quiet += 1
        if (found := control_plane.events()) != written:
            written, end, quiet = found, read(), 0
    return written, end


def _metric_figures(control_plane: BenchControlPlane, scheduler: BenchScheduler) -> dict[str, Any]:
    """The figures that a scheduler's metrics report."""
    if not scheduler.url:
        return {}
    with control_plane.control_plane.client(ADMIN, server=scheduler.url) as client:
        samples = parse_samples(str(client.request("GET", "/metrics")["message"]))
    median, high = (attempt_quantile(samples, share) for share in (0.5, 0.99))
    return {
        "p50_us": median and median * 1e6,
        "p99_us": high and high * 1e6,
        "unschedulable_attempts": unschedulable_attempts(samples),
        "victims": int(samples.get(_VICTIMS, 0)),
    }


def unschedulable_attempts(samples: Mapping[str, float]) -> int:
    """Attempts of all profiles that found no node."""
    return int(sum(n for name, n in samples.items() if name.startswith(_ATTEMPTS) and _UNSCHEDULABLE in name))


def attempt_quantile(samples: Mapping[str, float], share: float) -> float | None:
    """A quantile of the duration of successful attempts, by the scheduler's own histogram, interpolated within buckets;
    None without a successful attempt. Attempts beyond the last bucket count as at its edge."""
    counts: dict[float, float] = {}
    for name, count in samples.items():
        found = _BUCKET.fullmatch(name)
        if found is not None and _SCHEDULED in name:
            edge = inf if found[1] == "+Inf" else float(found[1])
            counts[edge] = counts.get(edge, 0.0) + count
    wanted = share * counts.get(inf, 0.0)
    if not wanted:
        return None
    lower = below = 0.0
    for edge in sorted(counts):
        if counts[edge] >= wanted:
            return lower if isinf(edge) else lower + (edge - lower) * (wanted - below) / (counts[edge] - below)
        lower, below = edge, counts[edge]
    return lower
