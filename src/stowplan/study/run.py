"""Runs a scenario with a seed: samples, windows and expectations on the way, metrics at the end."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration
from stowplan.config import read as read_config
from stowplan.errors import InputError, StowplanError
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.runtime.gc_tuning import GC_THRESHOLDS
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation
from stowplan.simulator.scenario.quantities import seconds_of
from stowplan.simulator.scenario.reading import read_file
from stowplan.study.expectations import Expectations
from stowplan.study.invariants import check_invariants
from stowplan.study.metrics import summarise
from stowplan.study.recording import RunRecording
from stowplan.study.result import RunResult
from stowplan.study.samples import Samples

SAMPLE_SECONDS = (60.0, 300.0, 900.0, 3600.0)
"""Default intervals of samples. Longer runs take the longer ones, so that samples take a small part of the time."""
MAX_SAMPLES = 3000
"""Samples of a run, up to which the next longer interval is not taken."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run that are not part of its scenario."""

    config: KubeSchedulerConfiguration | str | None = None
    """In place of the scenario's: a configuration, or the path of its file."""
    plugins: Mapping[str, Factory] = field(default_factory=dict)
    watched_pod: str = ""
    """A pod (namespace/name) whose decisions are kept as records."""
    on_progress: Callable[[float, float], None] | None = None
    """Called with simulated time and horizon, at each sample."""


def run(scenario: LoadedScenario, seed: int | None = None, settings: RunSettings | None = None) -> RunResult:
    """Run a scenario; equal scenarios, seeds and settings give equal results."""
    live = LiveRun(scenario, seed, settings or RunSettings())
    live.run_until(math.inf)
    return live.result()


def run_or_part(
    scenario: LoadedScenario, seed: int | None = None, settings: RunSettings | None = None
) -> tuple[RunResult, StowplanError | None]:
    """Run a scenario. If an error ends the run, the result up to then, marked with it, and the error."""
    live = LiveRun(scenario, seed, settings or RunSettings())
    try:
        live.run_until(math.inf)
    except StowplanError as error:
        return live.result(str(error)), error
    return live.result(), None


class LiveRun:
    """A run that can be continued: `run_until(t)` twice gives the same as once."""

    def __init__(self, scenario: LoadedScenario, seed: int | None, settings: RunSettings) -> None:
        self.scenario = scenario
        self.seed = scenario.spec.seed if seed is None else seed
        self._settings = settings
        self._config_name, config = load_config(scenario, settings)
        self.recording = RunRecording(
            scenario, with_events=scenario.spec.record.events, watched_pod=settings.watched_pod
        )
        self.recording.integrals.add("pods", 0, scenario.start)
        self.simulation = _simulation(scenario, self.seed, config, settings, self.recording)
        self._every = sample_interval(scenario)
        self._begin = seconds_of(scenario.spec.record.from_)
        self._samples = Samples(self.simulation, self.recording, self._begin)
        self._next_sample = 0.0
        self._before: Mapping[str, float] = {}
        """The integrals at the end of the warm-up."""
        self._expectations = Expectations(scenario)
        self._due = sorted({self._begin, *self._expectations.moments()})

    def run_until(self, time: float) -> None:
        """Run up to a time or the horizon."""
        with _rare_collections():
            self._run_until(time)

    def _run_until(self, time: float) -> None:
        simulation, horizon = self.simulation, self.scenario.horizon.time
        while not simulation.finished and simulation.now < time:
            stop = min(time, horizon, self._next_sample, *self._due[:1])
            simulation.run_until(stop)
            if simulation.now < stop:
                break
            self._reach(stop)
            if self._settings.on_progress is not None:
                self._settings.on_progress(simulation.now, horizon)

    def _reach(self, time: float) -> None:
        if self._due and time >= self._due[0]:
            areas = self._areas()
            if time == self._begin:
                self._before = areas
            self._expectations.reach(self._due.pop(0), self, areas)
        if time >= self._next_sample:
            self._samples.take(time)
            self._next_sample += self._every

    def _areas(self) -> Mapping[str, float]:
        return self.recording.integrals.areas(self.scenario.start + self.simulation.now)

    def result(self, error: str = "") -> RunResult:
        """The result as of now; the run cannot be continued after it. `error` is what ended the run, if one did."""
        recording, end = self.recording, self.simulation.now
        recording.close()
        areas = self._areas()
        if not error:
            check_invariants(recording, self.simulation, areas)
        span = {name: area - self._before.get(name, 0.0) for name, area in areas.items()}
        begin = min(self._begin, end)
        values = [*summarise(recording, begin, end, span), *self._samples.means()]
        tables = {
            table.name: table
            for table in (recording.pods, recording.jobs.table, recording.nodes, recording.series, recording.events)
        }
        if self.scenario.spec.record.attempts:
            tables[recording.attempts.name] = recording.attempts
        scenario = self.scenario
        return RunResult(
            scenario.name,
            self.seed,
            scenario.digest(self.seed),
            scenario.spec.start,
            to_microseconds(end),
            self._config_name,
            tuple(values),
            tables,
            self._expectations.check(self, values, begin, failed=bool(error)),
            recording.decisions,
            scenario.document,
            self.simulation.simulation.engine.plugin_bugs(),
            error,
        )


def sample_interval(scenario: LoadedScenario) -> float:
    """Seconds between samples."""
    if scenario.spec.record.every is not None:
        return seconds_of(scenario.spec.record.every)
    horizon = scenario.horizon.time
    if horizon == math.inf:
        return SAMPLE_SECONDS[0]
    return next((each for each in SAMPLE_SECONDS if horizon <= each * MAX_SAMPLES), SAMPLE_SECONDS[-1])


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Simulations make no reference cycles. With the default thresholds, collections take a twentieth of the time."""
    before = gc.get_threshold()
    if 0 < before[0] < GC_THRESHOLDS[0]:
        gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def load_config(scenario: LoadedScenario, settings: RunSettings) -> tuple[str, KubeSchedulerConfiguration]:
    """The name of the configuration, and the configuration with the plugins enabled."""
    if scenario.spec.plugins and not settings.plugins:
        raise InputError(f"{scenario.source}: $.plugins: the plugins have to be passed in RunSettings")
    given = settings.config
    if isinstance(given, KubeSchedulerConfiguration):
        return "", enable_everywhere(given, settings.plugins)
    file = given or (str(scenario.folder / scenario.spec.config) if scenario.spec.config else "")
    if not file:
        return "default", enable_everywhere(default_configuration(), settings.plugins)
    config = read_config(read_file(file), file, IN_TREE_PLUGINS.union(settings.plugins)).config
    return Path(file).stem, enable_everywhere(config, settings.plugins)


def _simulation(
    scenario: LoadedScenario,
    seed: int,
    config: KubeSchedulerConfiguration,
    settings: RunSettings,
    recording: RunRecording,
) -> ScenarioSimulation:
    return ScenarioSimulation(
        scenario, seed, config, {**REGISTRY, **settings.plugins}, observer=recording, lives=recording
    )
