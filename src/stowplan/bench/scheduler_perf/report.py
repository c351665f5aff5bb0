"""Results of one workload of the suite."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS
from stowplan.bench.result import encode, ratios_of


class PerfTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one scheduler."""

    throughput: float | None
    """The suite's SchedulingThroughput/Average, in pods per second; None if the measurement was too short."""
    per_second: float
    """Measured pods divided by the time of the measurement, which includes creating the pods."""
    pods: int
    """Pods bound in the measurement."""
    seconds: float
    cpu_us_per_pod: float
    rss_mib: float
    """At the end of the measurement."""
    others_cpu_share: float
    """Share of the machine's CPU time that neither scheduler nor control plane nor this process used."""
    unschedulable_attempts: int
    problem: str = ""
    """Why the workload did not end; the figures are those until then."""


class PerfReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`. A workload that cannot run has an obstacle instead of turns."""

    scenario: str
    threshold: float = 0.0
    load: float = 0.0
    """The machine's load average over one minute, before the first turn."""
    turns: dict[str, PerfTurn] = {}
    obstacle: str = ""

    @property
    def ratios(self) -> dict[str, float]:
        """Stowplan's figures divided by kube-scheduler's; empty unless both were measured."""
        ours, theirs = self.turns.get(OURS), self.turns.get(KUBE_SCHEDULER)
        if ours is None or theirs is None:
            return {}
        ratios = ratios_of(ours, {KUBE_SCHEDULER: theirs}, ("per_second", "cpu_us_per_pod", "rss_mib"))[KUBE_SCHEDULER]
        if ours.throughput and theirs.throughput:
            ratios["throughput"] = ours.throughput / theirs.throughput
        return ratios

    def to_json(self) -> bytes:
        fields: dict[str, Any] = {"scenario": self.scenario}
        if self.obstacle:
            return encode(fields | {"obstacle": self.obstacle})
        turns = msgspec.to_builtins(self.turns)
        fields |= {"threshold": self.threshold, "load": self.load}
        return encode(fields | {"turns": turns, "ratios": self.ratios})
