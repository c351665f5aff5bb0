"""`stowplan simulate`: manifests in, placements out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import Command
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.printing import print_lines
from stowplan.cli.progress import Progress

if TYPE_CHECKING:
    from stowplan.simulator.report.recorder import Examine
    from stowplan.simulator.report.report import SimulationReport

SOME_PENDING = 3


@click.command(cls=Command)
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    metavar="FILE",
    help="Manifests: a file, a folder (its .yaml, .yml and .json files), or '-'; may be given again.",
)
@click.option("--sample", is_flag=True, help="Some nodes and workloads that come with Stowplan, to try things on.")
@click.option("--from-cluster", is_flag=True, help="Start from what a cluster holds now. It is only read.")
@click.option("--kubeconfig", default="", metavar="FILE", help="With --from-cluster; by default as for kubectl.")
@click.option("--context", default="", metavar="NAME", help="With --from-cluster: the kubeconfig's context to use.")
@click.option(
    "-n", "--namespace", default="", metavar="NAME", help="For manifests that name none; else as for kubectl."
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
    sample: bool,
    from_cluster: bool,
    kubeconfig: str,
    context: str,
    namespace: str,
    config_file: str | None,
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    everything: bool,
    all_scores: bool,
) -> None:
    """Say where the pods of some manifests would go, on the nodes among them or on those of a cluster.

    Takes what 'kubectl apply' takes and 'kubectl get -o yaml' prints: nodes; pods, of which those with a nodeName run
    already; Deployments, StatefulSets, DaemonSets, Jobs and other workloads, whose pods are made as their controllers
    would; Services, volumes, claims and whatever else scheduling reads. Other kinds are named and left out. The
    scheduler then works, evictions included, until nothing moves any more; time is simulated. The same input and seed
    give the same result.

    With --from-cluster the manifests are added to what a cluster holds now, as 'kubectl apply' would: an object of the
    same name takes the place of the one that is there; a workload whose pod template changes has its pods replaced, all
    at once; nothing is scaled down. Without manifests it tells what will become of the pods that are pending. Workloads
    of the cluster have the pods that they have, and get back those that are evicted. Pods that wait for schedulers
    other than those of the configuration are named and left out, and so are kinds that may not be read, but for nodes
    and pods, which must be. Tables tell of pods that are new, and of those that were pending and no longer are; --all
    has the others as well. Only GET requests are sent.

    Extenders of the configuration are asked for real, over HTTP, but never to bind: that is simulated.

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
      What does it look like?
        stowplan simulate --sample -o wide
      Would this fit into my cluster?
        stowplan simulate --from-cluster -f deployment.yaml
      Why are pods pending, and will they remain so?
        stowplan simulate --from-cluster --context production
      The same on objects in a file:
        kubectl get nodes,pods,services,replicasets,statefulsets,jobs \\
          -A -o yaml > cluster.yaml
        stowplan simulate -f cluster.yaml -f deployment.yaml
      How close were the decisions?
        stowplan simulate -f manifests/ -o wide
      Which pods are pending?
        stowplan simulate -f manifests/ -o json | jq -r '.pending[].pods[]'
      With a scheduling rule of my own:
        stowplan simulate -f manifests/ --plugin ./rack_care.py:RackCare

    Exit status: 0 all pods are placed, 3 some are pending (with --from-cluster: some of those that were asked about),
    2 the input cannot be used, or the cluster cannot be read.
    """
    from stowplan.cli.profiles import load_config
    from stowplan.cli.simulation import ClusterLogin, SimulationQuestion, answer
    from stowplan.simulator.report.changed_since_snapshot import news_of

    if sample:
        names = (*names, _sample())
    _check_usage(names, from_cluster, kubeconfig or context)
    registered = load_plugins(plugins)
    config = load_config(config_file, registered)
    cluster = ClusterLogin(kubeconfig, context) if from_cluster else None
    question = SimulationQuestion(names, cluster, config, registered, seed, _examine(output, all_scores), namespace)
    notes: list[str] = []
    try:
        with Progress() as progress:
            report = answer(question, notes, progress)
    finally:
        for note in notes:
            click.echo(f"stowplan: {note}", err=True)
    news = news_of(report, all_that_waited=not names)
    if output in ("table", "wide"):
        shown = report if everything else news
        _print_tables(shown, wide=output == "wide", everything=everything, before=from_cluster)
    else:
        _print_serialized(report, output)
    if news.pending:
        click.get_current_context().exit(SOME_PENDING)


def _sample() -> str:
    """The folder with the sample; whoever likes it may copy it."""
    from importlib.resources import files

    folder = str(files("stowplan.simulator") / "sample")
    click.echo(f"stowplan: the sample is in {folder}", err=True)
    return folder


def _check_usage(names: tuple[str, ...], from_cluster: bool, only_with_cluster: str) -> None:
    if not names and not from_cluster:
        raise click.UsageError("Missing option '-f' / '--filename', --from-cluster or --sample.")
    if only_with_cluster and not from_cluster:
        raise click.UsageError("--kubeconfig and --context need --from-cluster.")


def _examine(output: str, all_scores: bool) -> Examine | None:
    """The closer look at decisions that an output takes."""
    from stowplan.simulator.report.detailed_decisions import podium, recording

    return {"table": None, "wide": podium}.get(output, recording(all_nodes=all_scores))


def _print_tables(report: SimulationReport, *, wide: bool, everything: bool, before: bool) -> None:
    from rich.console import Console

    from stowplan.simulator.report.tables import Style, tables

    console = Console()
    style = Style(wide, everything, console.width if console.is_terminal else None, before)
    print_lines(console, tables(report, style))


def _print_serialized(report: SimulationReport, output: str) -> None:
    from stowplan.simulator.report.serialized import to_json, to_yaml

    for piece in (to_json if output == "json" else to_yaml)(report):
        sys.stdout.buffer.write(piece)
