"""One contestant at work on one workload."""

from __future__ import annotations

from time import monotonic, sleep
from typing import NamedTuple

import msgspec

from stowplan.bench.cluster.arena import PODS, Arena
from stowplan.bench.cluster.contestants import CONTESTANTS
from stowplan.bench.cluster.tally import Tally
from stowplan.testing import ADMIN, Process, cpu_seconds, rss_mib

PATIENCE = 600.0
"""Seconds until the last pod has to be bound."""

_LOOK_EVERY = 0.05
_QUIET_LOOKS = 10


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one contestant. The clock runs from the first sign of work to the last write."""

    per_second: float
    cpu_us_per_pod: float
    binds_per_second: float
    """The rate from the first sign of work to the last bind, whatever of the events was left to be written."""
    first_bind_s: float
    """Seconds from the start of the process to the first sign of work."""
    rss_mib: float
    """At the end."""
    events: int
    control_plane_us_per_pod: float
    """CPU of API server and etcd together."""


class Reading(NamedTuple):
    """A moment: the clock, and the CPU time that contestant and control plane have used so far."""

    at: float
    cpu: float
    server_cpu: float


def run_heat(arena: Arena, name: str, count: int) -> Figures:
    """Start a contestant where `count` pods wait, and measure it until they are bound and their events are written."""
    events = arena.events()
    version = arena.version()
    plane = arena.control_plane
    started = monotonic()
    with CONTESTANTS[name](plane) as process:

        def read() -> Reading:
            return Reading(monotonic(), cpu_seconds(process.pid), arena.cpu_seconds())

        tally = Tally(PODS, version, count, read)
        tally.open(plane.url, plane.tls(), ADMIN.token)
        try:
            tally.wait(PATIENCE, lambda: process.alive)
        finally:
            tally.close()
        assert tally.first is not None
        assert tally.last is not None
        written, end = _until_written(arena, process, tally.last)
        return _figures(count, started, (tally.first, tally.last, end), rss_mib(process.pid), written - events)


def _until_written(arena: Arena, process: Process, last: Reading) -> tuple[int, Reading]:
    """Wait until no more events come: how many there are then, and when the last of them was found."""
    events, end, quiet = arena.events(), last, 0
    while quiet < _QUIET_LOOKS:
        sleep(_LOOK_EVERY)
        found = arena.events()
        quiet += 1
        if found != events:
            events, quiet = found, 0
            end = Reading(monotonic(), cpu_seconds(process.pid), arena.cpu_seconds())
    return events, end


def _figures(
    count: int, started: float, readings: tuple[Reading, Reading, Reading], rss: float, events: int
) -> Figures:
    first, last, end = readings
    return Figures(
        per_second=count / max(end.at - first.at, _LOOK_EVERY),
        cpu_us_per_pod=(end.cpu - first.cpu) / count * 1e6,
        binds_per_second=count / max(last.at - first.at, _LOOK_EVERY),
        first_bind_s=first.at - started,
        rss_mib=rss,
        events=events,
        control_plane_us_per_pod=(end.server_cpu - first.server_cpu) / count * 1e6,
    )
