"""`stowplan demo --web`: the demo on the page. The run is simulated first; the page replays it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from stowplan._version import __version__
from stowplan.cli.progress import Progress
from stowplan.cli.scenario_run import load, plugins_of
from stowplan.cli.state import ClusterLogin, RunOptions, State, StateOptions, open_state
from stowplan.cli.streams import print_notes
from stowplan.cli.web import WebOptions, serve_state
from stowplan.config import KubeSchedulerConfiguration
from stowplan.errors import InputError
from stowplan.framework.explanation import AsOf
from stowplan.insight.insight import Insight
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.demo import ScenarioRun, load_scenario
from stowplan.simulator.input import SIMULATED, Input
from stowplan.simulator.report.recorder import RunRecorder
from stowplan.simulator.scenario import ScenarioSimulation
from stowplan.simulator.simulation import Simulation
from stowplan.simulator.timeline import RunTimeline
from stowplan.study.run import RunSettings, load_config
from stowplan.traces.cluster_recording import ClusterRecording

_PROGRESS_STEPS = 500
_UNKNOWN_HORIZON_STEP_SECONDS = 3600.0


def serve_scenario(
    nodes: int, config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory], seed: int, options: WebOptions
) -> None:
    """Plays the scenario of the demo until it is interrupted."""
    serve_state(scenario_state(nodes, config, plugins, seed), options)


def scenario_state(nodes: int, config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory], seed: int) -> State:
    """The state at the end of the scenario, with its timeline."""
    run = ScenarioRun(load_scenario(), nodes, seed, config, {**REGISTRY, **plugins})
    timeline = run.recorder.timeline = RunTimeline(by_attempts=False, plays=True)
    run.on_step = lambda text: timeline.mark("step", text)
    timeline.begin(run.simulation)
    with Progress() as progress:
        progress.start("simulating the demo", total=int(run.scenario.seconds))
        while not run.finished:
            run.proceed(1.0, lambda: False)
            progress.reach(int(run.elapsed))
    return simulated_state("demo", run.simulation, run.recorder, config, plugins)


def timeline_state(file: str, config_file: str | None, given: tuple[str, ...], seed: int | None) -> State:
    """The state at the end of a scenario over time, with its timeline. Raises StowplanError."""
    scenario = load(file)
    plugins = plugins_of(scenario, given)
    _, config = load_config(scenario, RunSettings(config_file, plugins))
    timeline = RunTimeline(by_attempts=False)
    recorder = RunRecorder(timeline=timeline)
    chosen = scenario.spec.seed if seed is None else seed
    run = ScenarioSimulation(scenario, chosen, config, {**REGISTRY, **plugins}, observer=recorder)
    recorder.attach(run.api_server)
    timeline.begin(run.simulation)
    with Progress() as progress:
        horizon = scenario.horizon.time
        progress.start("simulating the scenario", total=int(horizon) if isfinite(horizon) else None)
        step = max(1.0, horizon / _PROGRESS_STEPS) if isfinite(horizon) else _UNKNOWN_HORIZON_STEP_SECONDS
        while not run.finished:
            before = run.now
            run.run_until(before + step)
            progress.reach(int(run.now))
            if run.now <= before:
                break
    return simulated_state(os.path.basename(file), run.simulation, recorder, config, plugins)


def recorded_state(file: str, config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory]) -> State:
    """The state at the end of a recording of a cluster, with its timeline: nothing is scheduled. Raises InputError."""
    recording = ClusterRecording(Path(file))
    timeline = RunTimeline(by_attempts=False)
    recorder = RunRecorder(timeline=timeline)
    start = recording.header.start
    simulation = Simulation(config, {**REGISTRY, **plugins}, observer=recorder, start=start)
    server, engine, kinds = simulation.api_server, simulation.engine, {kind.struct for kind in SIMULATED.values()}
    recorder.attach(server)
    begun = False
    for change, item in recording.changes():
        if item is None:
            timeline.begin(simulation)
            begun = True
        elif type(item) in kinds:
            simulation.clock.now = max(simulation.clock.now, start + change.time)
            (server.finish if change.removed else server.put)(item)
            for each in server.changes():
                (engine.remove if each.removed else engine.put)(each.item)
            engine.take()
            if begun:
                timeline.passed()
    if not begun:
        raise InputError(f"{file}: the recording ends before all objects are listed")
    return simulated_state(os.path.basename(file), simulation, recorder, config, plugins)


def simulated_state(
    name: str,
    simulation: Simulation,
    recorder: RunRecorder,
    config: KubeSchedulerConfiguration,
    plugins: Mapping[str, Factory],
) -> State:
    """The state of a simulation that has ended."""
    return State(
        StateOptions((name,)),
        Insight(simulation.engine, simulation.clock),
        simulation,
        recorder,
        Input([], Counter(), []),
        None,
        DEFAULT_NAMESPACE,
        config,
        plugins,
        True,
        AsOf(by=f"stowplan {__version__}", source=name),
        [],
    )


def serve_files(
    names: tuple[str, ...],
    login: tuple[str, str] | None,
    config: KubeSchedulerConfiguration,
    plugins: Mapping[str, Factory],
    seed: int,
    options: WebOptions,
) -> None:
    """Plays the run of manifests or of a cluster until it is interrupted."""
    source = StateOptions(names, None if login is None else ClusterLogin(*login))
    run = RunOptions(seed, always=True, timeline=RunTimeline(by_attempts=True, plays=True))
    with (
        print_notes() as notes,
        Progress() as progress,
        open_state(source, config, plugins, notes=notes, progress=progress, options=run) as state,
    ):
        progress.hide()
        serve_state(state, options)
