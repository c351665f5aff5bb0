"""`stowplan demo`: a live view of a scheduler on a simulated cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stowplan.cli.command import FileCommand, filename_option
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.progress import Progress
from stowplan.cli.streams import print_lines, print_notes

if TYPE_CHECKING:
    from stowplan.config import KubeSchedulerConfiguration
    from stowplan.runtime import Factory
    from stowplan.simulator.report import SimulationReport
    from stowplan.simulator.watch import ClusterSummary

_DEFAULT_NODES = 300


@click.command(cls=FileCommand)
@click.argument("names", nargs=-1, metavar="[FILE...|-]")
@filename_option("Your manifests instead of the scenario: a file, a folder, or a snapshot; '-f' may be left out.")
@click.option("--from-cluster", is_flag=True, help="Your cluster instead of the scenario; it is only read.")
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="With --from-cluster: kubeconfig file; default as for kubectl."
)
@click.option("--context", default="", metavar="NAME", help="With --from-cluster: context of the kubeconfig.")
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file.")
@plugin_option
@click.option(
    "--nodes", type=click.IntRange(3, 5000), help=f"Nodes of the scenario's cluster. [default: {_DEFAULT_NODES}]"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for ties between nodes.")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    help="Simulated seconds per second; with manifests or a cluster, attempts per second. "
    "[default: 1; with manifests or a cluster, ten seconds in all]",
)
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Stop after at most this many seconds.")
@click.option("--web", "in_browser", is_flag=True, help="Play it in a browser; prints the address of the page.")
@click.option("--port", type=click.IntRange(0, 65535), help="With --web: its port; default as for 'stowplan web'.")
@click.option("--open", "open_browser", is_flag=True, help="With --web: open the page in a browser.")
def demo(
    names: tuple[str, ...],
    from_cluster: bool,
    kubeconfig: str,
    context: str,
    config_file: str | None,
    plugins: tuple[str, ...],
    nodes: int | None,
    seed: int,
    speed: float | None,
    duration: float | None,
    in_browser: bool,
    port: int | None,
    open_browser: bool,
) -> None:
    """Watch a scheduler fill a simulated cluster of 300 nodes in three zones, in this process, for forty seconds.

    The scenario has a DaemonSet, Deployments spread over zones, caches with anti-affinity, databases with volumes,
    gated pods, batch jobs that fill the remaining capacity, urgent pods that preempt some of them, pods that never fit,
    and nodes that fail. With FILE or --from-cluster your own nodes and pods are shown instead, and with --plugin your
    own plugin schedules; see also 'stowplan simulate --watch'.

    Each cell of the map is a node; its height is the node's utilization. Keys: q quits, space pauses and goes on, the
    right arrow makes one attempt, the up and down arrows change the speed. Without a terminal one line per second is
    printed. With --web the same is played on a page, forward and back.

    \b
    Examples:
      stowplan demo
      stowplan demo --speed 4
      stowplan demo --nodes 30 --seed 7 --duration 10
      stowplan demo --plugin ./rack_care.py
      stowplan demo -f nodes.yaml -f deployment.yaml
      stowplan demo --from-cluster
      stowplan demo --web --open

    Set NO_COLOR to disable colours. Exit status: 0 finished, 2 the input is invalid, 130 interrupted.
    """
    from rich.console import Console

    from stowplan.cli.profiles import load_config
    from stowplan.simulator.watch import final_lines

    if (kubeconfig or context) and not from_cluster:
        raise click.UsageError("--kubeconfig and --context need --from-cluster.")
    own_state = bool(names) or from_cluster
    if own_state and nodes is not None:
        raise click.UsageError("--nodes is for the scenario, which FILE and --from-cluster replace.")
    if (port is not None or open_browser) and not in_browser:
        raise click.UsageError("--port and --open need --web.")
    registered = load_plugins(plugins)
    config = load_config(config_file, registered)
    if in_browser:
        from stowplan.cli.demo_page import serve_files, serve_scenario
        from stowplan.cli.web import WebOptions

        options = WebOptions("127.0.0.1", port, (), "", "", open_browser)
        if own_state:
            login = (kubeconfig, context) if from_cluster else None
            serve_files(names, login, config, registered, seed, options)
        else:
            serve_scenario(nodes or _DEFAULT_NODES, config, registered, seed, options)
        return
    if own_state:
        login = (kubeconfig, context) if from_cluster else None
        report, last = _watch_files(names, login, config, registered, seed, speed, duration)
    else:
        report, last = _watch_scenario(nodes or _DEFAULT_NODES, config, registered, seed, speed or 1.0, duration)
    console = Console(highlight=False)
    print_lines(console, final_lines(report, last, console.width if console.is_terminal else None))


def _watch_scenario(
    nodes: int,
    config: KubeSchedulerConfiguration,
    plugins: dict[str, Factory],
    seed: int,
    speed: float,
    duration: float | None,
) -> tuple[SimulationReport, ClusterSummary]:
    from stowplan.cli.watch import watch
    from stowplan.plugins.registry import REGISTRY
    from stowplan.simulator.demo import ScenarioRun, load_scenario
    from stowplan.simulator.report import report_of

    run = ScenarioRun(load_scenario(), nodes, seed, config, {**REGISTRY, **plugins})
    last = watch(run, speed, duration)
    return report_of(run.simulation, run.recorder, {}), last


def _watch_files(
    names: tuple[str, ...],
    login: tuple[str, str] | None,
    config: KubeSchedulerConfiguration,
    plugins: dict[str, Factory],
    seed: int,
    speed: float | None,
    duration: float | None,
) -> tuple[SimulationReport, ClusterSummary]:
    from stowplan.cli.state import ClusterLogin, RunOptions, StateOptions, open_state
    from stowplan.cli.watch import watch_files
    from stowplan.simulator.report import report_of

    shown: list[ClusterSummary] = []
    source = StateOptions(names, None if login is None else ClusterLogin(*login))
    options = RunOptions(
        seed,
        always=True,
        watch=lambda simulation, recorder: shown.append(
            watch_files(simulation, recorder, "stowplan demo", speed, duration)
        ),
        to_the_end=False,
    )
    with (
        print_notes() as notes,
        Progress() as progress,
        open_state(source, config, plugins, notes=notes, progress=progress, options=options) as state,
    ):
        report = report_of(state.simulation, state.recorder, state.given.unknown)
    return report, shown[0]
