"""Runs workloads: each request is sent to both extenders, and their replies are compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from stowplan.bench.extender.extenders import BenchExtender, build_go_extender, go_extender, ours
from stowplan.bench.extender.reply_comparison import differences
from stowplan.bench.extender.report import ExtenderFigures, ExtenderReport, figures
from stowplan.bench.extender.traffic import CONTROLLERS, Traffic
from stowplan.bench.extender.workload import (
    LEAK,
    LEAK_NODES,
    LEAK_REQUESTS,
    MAX_LEAKED_MIB,
    NAMES,
    WORKLOADS,
    ExtenderWorkload,
)
from stowplan.bench.machine import calibrate
from stowplan.bench.result import Comparison
from stowplan.testing import cpu_seconds, rss_mib

OURS, GO = "stowplan", "go"
WARM = CONTROLLERS
"""Requests before the measurement: one for each controller."""
COMPARED_REPLIES = 20
"""Number of replies per workload that are compared in full."""

Progress = Callable[[str], None]


class ExtenderRunner:
    """Runs workloads, optionally with another number of requests."""

    def __init__(
        self,
        *,
        requests: int | None = None,
        seed: int = 0,
        progress: Progress = lambda message: None,
        calibrate: Callable[[], float] = calibrate,
        build: Callable[[Path], Path] = build_go_extender,
    ) -> None:
        self._requests = requests
        self._seed = seed
        self._progress = progress
        self._calibrate = calibrate
        self._build = build

    def run(self, names: Iterable[str] = NAMES) -> Iterator[ExtenderReport]:
        chosen = [name for name in NAMES if name in set(names)]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "extender"
            if any(name in WORKLOADS for name in chosen):
                self._progress("building the extender in Go")
                program = self._build(Path(folder))
            for name in chosen:
                yield self._leak() if name == LEAK else self._compare(WORKLOADS[name], program)

    def _compare(self, workload: ExtenderWorkload, program: Path) -> ExtenderReport:
        count = self._requests or workload.requests
        self._progress(f"{workload.name}: {count} requests about {workload.nodes:,} nodes, to both")
        before = self._calibrate()
        traffic = Traffic(workload.nodes, self._seed, names_only=workload.names_only)
        with ours() as mine, go_extender(program, remember=workload.names_only) as other:
            measurement = ExtenderMeasurement(
                workload.verb, traffic, {OURS: mine, GO: other}, changes=workload.names_only
            )
            measurement.warm_up(WARM)
            measurement.run(count)
            measured = measurement.figures()
        peer = measured[GO]
        bars = [("p50_us", workload.max_p50_ratio), ("p99_us", workload.max_p99_ratio)]
        comparisons = [_verdict(bar, getattr(measured[OURS], bar) / getattr(peer, bar), most) for bar, most in bars]
        return ExtenderReport(
            scenario=workload.name,
            nodes=workload.nodes,
            pods=count,
            calibration_s=fmean((before, self._calibrate())),
            figures=measured[OURS],
            peers={GO: peer},
            compared=measurement.compared,
            disagreements=measurement.disagreements,
            comparisons=comparisons,
        )

    def _leak(self) -> ExtenderReport:
        count = self._requests or LEAK_REQUESTS
        self._progress(f"{LEAK}: {count} requests about {LEAK_NODES:,} nodes, to ours alone")
        before = self._calibrate()
        traffic = Traffic(LEAK_NODES, self._seed, names_only=False)
        with ours() as mine:
            measurement = ExtenderMeasurement("filter", traffic, {OURS: mine}, changes=False)
            measurement.warm_up(max(WARM, count // 10))
            at_first = rss_mib(mine.process.pid)
            measurement.run(count)
            measured = measurement.figures()[OURS]
        grown = measured.rss_mib - at_first
        bar = f"grows by at most {MAX_LEAKED_MIB:g} MiB"
        return ExtenderReport(
            scenario=LEAK,
            nodes=LEAK_NODES,
            pods=count,
            calibration_s=fmean((before, self._calibrate())),
            figures=measured,
            comparisons=[Comparison(bar=bar, measured=grown, met=grown <= MAX_LEAKED_MIB)],
        )


class ExtenderMeasurement:
    """Sends the same requests to all extenders in turn."""

    def __init__(self, verb: str, traffic: Traffic, extenders: dict[str, BenchExtender], *, changes: bool) -> None:
        self._verb = verb
        self._traffic = traffic
        self._extenders = extenders
        self._changes = changes
        self._seconds: dict[str, list[float]] = {name: [] for name in extenders}
        self._cpu = dict.fromkeys(extenders, 0.0)
        self.compared = 0
        self.disagreements: list[str] = []

    def warm_up(self, count: int) -> None:
        everything = self._traffic.everything()
        for extender in self._extenders.values():
            extender.client.ask("filter", everything)
        for _ in range(count):
            self._ask()

    def run(self, count: int) -> None:
        self._seconds = {name: [] for name in self._extenders}
        self._cpu = dict.fromkeys(self._extenders, 0.0)
        every = max(1, count // COMPARED_REPLIES)
        for number in range(count):
            answers = self._ask()
            if number % every == 0 and len(answers) > 1:
                self.compared += 1
                found = differences(self._verb, *answers)
                self.disagreements += [f"request {number}: {found[0]}"] if found else []

    def figures(self) -> dict[str, ExtenderFigures]:
        return {
            name: figures(self._seconds[name], self._cpu[name], rss_mib(extender.process.pid))
            for name, extender in self._extenders.items()
        }

    def _ask(self) -> Sequence[bytes]:
        request = self._traffic.next_request()
        answers = []
        for name, extender in self._extenders.items():
            if self._changes:
                extender.client.ask("filter", request.changes)
            before = cpu_seconds(extender.process.pid)
            answer = extender.client.ask(self._verb, request.body)
            self._cpu[name] += cpu_seconds(extender.process.pid) - before
            self._seconds[name].append(answer.seconds)
            answers.append(answer.body)
        return answers


def _verdict(figure: str, ratio: float, most: float) -> Comparison:
    return Comparison(bar=f"{figure} at most {most:g} of {GO}'s", measured=ratio, met=ratio <= most)
