"""`stowplan simulate`: manifests in, placements out."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import click

from stowplan.cli.files import read
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.printing import print_lines
from stowplan.cli.progress import Progress

if TYPE_CHECKING:
    from stowplan.config import KubeSchedulerConfiguration
    from stowplan.runtime import Factory
    from stowplan.simulator.report.recorder import Examine
    from stowplan.simulator.report.report import Report

SOME_PENDING = 3


@click.command()
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Manifests: a file, a folder (its .yaml, .yml and .json files), or '-'; may be given again.",
)
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration to schedule with.")
@plugin_option
@click.option("--seed", type=int, default=0, show_default=True, help="For ties between nodes.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.option("--all", "everything", is_flag=True, help="Tables: list every pod, node and victim, however many.")
@click.option(
    "--all-scores",
    is_flag=True,
    help="JSON and YAML: tell of every node in every decision also where there are more than 100 nodes.",
)
def simulate(
    names: tuple[str, ...],
    config_file: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    everything: bool,
    all_scores: bool,
) -> None:
    """Say where the pods of some manifests would go, on the nodes among them.

    Takes what 'kubectl apply' takes and 'kubectl get -o yaml' prints: nodes; pods, of which those with a nodeName run
    already; Deployments, StatefulSets, DaemonSets, Jobs and other workloads, whose pods are made as their controllers
    would; Services, volumes, claims and whatever else scheduling reads. Other kinds are named and left out. The
    scheduler then works, evictions included, until nothing moves any more; time is simulated. The same input and seed
    give the same result.

    \b
    table   a line a pod, or a workload where there are more than 50; why pods
            are pending, by reason with the nodes it was given for; evictions
    wide    also the score of the chosen node, the runner-up, how many nodes
            would do, and what each node holds
    json    one object: pods, each with the record of its last decision;
            pending, preemptions, nodes, summary. On more than 100 nodes a
            record has the ten best nodes only, and not those that were
            refused, of which `pending` tells; --all-scores has them all
    yaml    the same

    \b
    Examples:
      Would this fit into my cluster?
        kubectl get nodes,pods,services,replicasets,statefulsets,jobs \\
          -A -o yaml > cluster.yaml
        stowplan simulate -f cluster.yaml -f deployment.yaml
      How close were the decisions?
        stowplan simulate -f manifests/ -o wide
      Which pods are pending?
        stowplan simulate -f manifests/ -o json | jq -r '.pending[].pods[]'
      With a scheduling rule of my own:
        stowplan simulate -f manifests/ --plugin ./rack_care.py:RackCare

    Exit status: 0 all pods are placed, 3 some are pending, 2 the input cannot be used.
    """
    from stowplan.cli.profiles import load_config

    registered = load_plugins(plugins)
    config = load_config(config_file, registered)
    with Progress() as progress:
        report, notes = _run(names, config, registered, seed, _examine(output, all_scores), progress)
    for note in notes:
        click.echo(f"stowplan: {note}", err=True)
    if output in ("table", "wide"):
        _print_tables(report, wide=output == "wide", everything=everything)
    else:
        _print_serialized(report, output)
    if report.summary.pending:
        click.get_current_context().exit(SOME_PENDING)


def _run(
    names: tuple[str, ...],
    config: KubeSchedulerConfiguration,
    plugins: dict[str, Factory],
    seed: int,
    examine: Examine | None,
    progress: Progress,
) -> tuple[Report, list[str]]:
    """The report, and what else is worth a line."""
    from stowplan.plugins.registry import REGISTRY
    from stowplan.simulator.checks import check
    from stowplan.simulator.manifests import load
    from stowplan.simulator.originals import Originals
    from stowplan.simulator.population import populate
    from stowplan.simulator.report import Recorder, report_of
    from stowplan.simulator.simulation import Simulation

    progress.start("reading manifests")
    needs_objects = any(getattr(factory, "needs_objects", False) for factory in plugins.values())
    content = cache(read) if needs_objects else read
    manifests = load(names, content)
    check(manifests)
    recorder = Recorder(examine)
    simulation = Simulation(config, {**REGISTRY, **plugins}, seed=seed, observer=recorder, keep_objects=needs_objects)
    recorder.attach(simulation.world)
    if needs_objects:
        simulation.whole = Originals(simulation.world, names, content, manifests.objects).whole
    populate(simulation.world, simulation.controllers, manifests.objects)
    simulation.settle()
    progress.start("placing pods", total=len(simulation.engine.core.pending))
    simulation.run(lambda: progress.reach(recorder.bindings))
    unknown = ", ".join(f"{count} {kind}" for kind, count in sorted(manifests.unknown.items()))
    notes = [*manifests.notes, *simulation.controllers.notes(), *([f"not simulated: {unknown}"] if unknown else [])]
    return report_of(simulation, recorder, manifests.unknown), notes


def _examine(output: str, all_scores: bool) -> Examine | None:
    """The closer look at decisions that an output takes."""
    from stowplan.simulator.report.examination import podium, recording

    return {"table": None, "wide": podium}.get(output, recording(all_nodes=all_scores))


def _print_tables(report: Report, *, wide: bool, everything: bool) -> None:
    from rich.console import Console

    from stowplan.simulator.report.tables import Style, tables

    console = Console()
    print_lines(console, tables(report, Style(wide, everything, console.width if console.is_terminal else None)))


def _print_serialized(report: Report, output: str) -> None:
    from stowplan.simulator.report.serialized import to_json, to_yaml

    for piece in (to_json if output == "json" else to_yaml)(report):
        sys.stdout.buffer.write(piece)
