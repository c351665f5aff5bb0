"""`stowplan demo --web`: the demo on the page. The run is simulated first; the page replays it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from stowplan._version import __version__
from stowplan.cli.progress import Progress
from stowplan.cli.state import ClusterLogin, RunOptions, State, StateOptions, open_state
from stowplan.cli.streams import print_notes
from stowplan.cli.web import WebOptions, serve_state
from stowplan.config import KubeSchedulerConfiguration
from stowplan.framework.explanation import AsOf
from stowplan.insight.insight import Insight
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.simulator.admission import DEFAULT_NAMESPACE
from stowplan.simulator.demo import ScenarioRun, load_scenario
from stowplan.simulator.input import Input
from stowplan.simulator.timeline import RunTimeline


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
    simulation = run.simulation
    return State(
        StateOptions(("demo",)),
        Insight(simulation.engine, simulation.clock),
        simulation,
        run.recorder,
        Input([], Counter(), []),
        None,
        DEFAULT_NAMESPACE,
        config,
        plugins,
        True,
        AsOf(by=f"stowplan {__version__}, default configuration", source="demo"),
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
