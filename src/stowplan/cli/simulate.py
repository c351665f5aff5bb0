"""`stowplan simulate`: simulates scheduling of manifests, or of a cluster's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from stowplan.cli.command import FileCommand, filename_option
from stowplan.cli.emulated_version import emulated_version_option
from stowplan.cli.exit_status import ExitStatus
from stowplan.cli.feature_gates import feature_gates_option, with_feature_gates
from stowplan.cli.plugins import load_plugins, plugin_option
from stowplan.cli.progress import Progress
from stowplan.cli.scenario_run import is_scenario, run_file
from stowplan.cli.simulate_output import examined_for, print_serialized, print_tables, report_of_state
from stowplan.cli.streams import print_notes

if TYPE_CHECKING:
    from stowplan.config.releases import Release
    from stowplan.simulator.report.recorder import RunRecorder
    from stowplan.simulator.simulation import Simulation


@click.command(cls=FileCommand)
@click.argument("names", nargs=-1, metavar="[FILE...|-]")
@filename_option("Manifests: a file, a folder (its .yaml, .yml and .json files), or '-'; '-f' may be left out.")
@click.option("--sample", is_flag=True, help="Use the nodes and workloads that come with Stowplan.")
@click.option("--from", "snapshot", default="", metavar="FILE", help="Start from a snapshot, see 'stowplan snapshot'.")
@click.option("--from-cluster", is_flag=True, help="Start from the objects of a cluster, which is only read.")
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="With --from-cluster: kubeconfig file; default as for kubectl."
)
@click.option("--context", default="", metavar="NAME", help="With --from-cluster: context of the kubeconfig.")
@click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Namespace of manifests without one; default as for kubectl."
)
@click.option("--strict", is_flag=True, help="Report objects that the input lacks as errors instead of assumptions.")
@click.option(
    "--hpa",
    type=click.Choice(["min", "current", "max"]),
    default="current",
    show_default=True,
    help="Replicas of workloads under a HorizontalPodAutoscaler: its minimum, the workload's own within the bounds, "
    "or its maximum.",
)
@click.option(
    "--gang-jobs",
    is_flag=True,
    help="Make a PodGroup for each Job that is Indexed and runs all its pods in parallel, as the job controller does "
    "with the feature gate WorkloadWithJob.",
)
@click.option(
    "--max-input-size",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    metavar="MIB",
    help="Largest size of a file, in MiB.",
)
@click.option("--config", "config_file", metavar="FILE", help="KubeSchedulerConfiguration file.")
@emulated_version_option("that of the cluster or snapshot, else 1.36")
@feature_gates_option
@plugin_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for ties between nodes.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml", "html", "junit"]),
    default="table",
    show_default=True,
    help="Output format; junit with a Scenario only.",
)
@click.option("--out", default="", metavar="DIR", help="With a Scenario: write tables and run.json into this folder.")
@click.option(
    "--watch", "watched", is_flag=True, help="Show the cluster while its pods are scheduled, before the result."
)
@click.option(
    "--anonymize", is_flag=True, help="With --from or --from-cluster: replace names, as 'stowplan snapshot' does."
)
@click.option("--all", "everything", is_flag=True, help="In tables: list every pod, node and victim.")
@click.option("--by", default="", metavar="LABEL", help="Show the use of nodes by this label, such as zone or pool.")
@click.option(
    "--all-scores",
    is_flag=True,
    help="In JSON and YAML: include every node in every decision also with more than 100 nodes.",
)
def simulate(
    names: tuple[str, ...],
    sample: bool,
    snapshot: str,
    from_cluster: bool,
    kubeconfig: str,
    context: str,
    namespace: str,
    strict: bool,
    hpa: str,
    gang_jobs: bool,
    max_input_size: int,
    config_file: str | None,
    release: Release | None,
    feature_gates: tuple[str, ...],
    plugins: tuple[str, ...],
    seed: int,
    output: str,
    out: str,
    watched: bool,
    anonymize: bool,
    everything: bool,
    by: str,
    all_scores: bool,
) -> None:
    """Simulate where the pods of manifests are scheduled, on the nodes in the manifests or on those of a cluster.

    Reads everything that 'kubectl apply' reads and 'kubectl get -o yaml' prints: nodes; pods, which are running if they
    have a nodeName; Deployments, StatefulSets, DaemonSets, Jobs and other workloads, whose pods are created as their
    controllers do; Services, volumes, claims and other objects that scheduling reads; PodGroups, whose members are
    scheduled together, with the feature gates that their fields need. An object of any other kind with
    spec.replicas and a pod template in spec.template is a workload too; other kinds are listed and ignored. LimitRange
    defaults are applied, and pods over a ResourceQuota are not created. The scheduler then runs in simulated time, with
    preemption, until nothing changes any more. The same input and seed give the same result.

    Objects to which the input refers and which it lacks (controllers, claims, volumes, classes) are assumed to exist,
    and each assumption is listed; with --strict they are errors. Fields that Kubernetes does not know are errors. An
    object of a later FILE is merged into the object of the same kind and name of an earlier FILE, as kustomize merges
    patches.

    With --from-cluster the manifests are applied to the current objects of a cluster as 'kubectl apply' does: an
    object replaces the one of the same name; if the pod template of a workload changes, all its pods are replaced at
    once; nothing is scaled down. Without manifests, the pending pods of the cluster are simulated. Workloads of the
    cluster keep their pods, and evicted pods are recreated. Pods of schedulers that are not in the configuration are
    listed and ignored, and so are kinds without read permission, except nodes and pods, which are required. Tables
    list new pods and pods that were pending and are now placed; --all lists the others too. Only GET requests are sent.
    With --from, and if the first FILE is a snapshot, the same is done with the objects of the snapshot.

    With a FILE of kind Scenario ('stowplan scenario init' writes one) the cluster runs over time: pods arrive, run and
    end, nodes fail and are added. Metrics of the run are printed, and the expectations of the scenario are checked.

    Extenders of the configuration are called over HTTP, except for bind, which is simulated.

    With --watch each cell of a map is a node, which fills up as pods are placed. Keys: q shows the result at once,
    space pauses and goes on, the right arrow makes one attempt, the up and down arrows change the speed.

    \b
    table   one line per pod, or per workload for more than 50 pods; reasons of
            pending pods with the nodes of each reason; evictions
    wide    also the score of the chosen node, the runner-up, the number of
            feasible nodes, the use of each node, and of each resource, also by
            zone or by the label of --by: what is free, the largest free amount
            on one node, and the share of the free amount that pods with the
            largest request cannot use (fragmented)
    json    one object: pods, each with the record of its last decision;
            pending, preemptions, nodes, summary, assumptions, notCreated (pods
            over quota), use and groups (use of nodes by resource, zone or
            label), podGroups. With more than 100 nodes a
            record has only the ten best nodes and no rejected ones, which are
            in `pending`; --all-scores includes all. Amounts are integers;
            `units` has their units: millicores, bytes or count
    yaml    the same as YAML
    html    one file with the views of 'stowplan web', which a browser opens
            from disk: map, timeline, pending pods and their explanations

    \b
    Examples:
      Try it on the sample:
        stowplan simulate --sample -o wide
      Check whether a Deployment fits into the cluster:
        stowplan simulate --from-cluster deployment.yaml
      Find out why pods are pending, and whether they will stay pending:
        stowplan simulate --from-cluster --context production
      The same on objects of kubectl, with assumptions about what is not there:
        kubectl get nodes,pods -A -o yaml | stowplan simulate -
      Check whether a Deployment fits at the maximum of its autoscaler:
        stowplan simulate cluster.yaml deployment.yaml --hpa max
      Show scores and runners-up:
        stowplan simulate manifests/ -o wide
      List pending pods:
        stowplan simulate manifests/ -o json | jq -r '.pending[].pods[]'
      Watch your pods being placed:
        stowplan simulate manifests/ --watch
      With your own plugin:
        stowplan simulate manifests/ --plugin ./rack_care.py
      A week of arrivals, with tables of all pods and jobs:
        stowplan simulate -f scenario.yaml --out results/

    Exit status: 0 all pods are placed, and all expectations of a Scenario hold, 3 some pods are pending (with
    --from-cluster and -f: pods of the manifests; a Scenario: without expectations) or were not created, 2 the input is
    invalid, or the cluster cannot be read, 4 a plugin has a bug, 5 an expectation of a Scenario does not hold.
    """
    if is_scenario(names, or_stdin=True):
        unused = {
            "--sample": sample,
            "--from": snapshot,
            "--from-cluster": from_cluster,
            "--watch": watched,
            "--anonymize": anonymize,
            "--by": by,
            "--emulated-version": release,
            "--feature-gates": feature_gates,
        }
        for option in (option for option, value in unused.items() if value):
            raise click.UsageError(f"{option} cannot be used with a Scenario.")
        given = click.get_current_context().get_parameter_source("seed") == ParameterSource.COMMANDLINE
        run_file(names[0], seed if given else None, config_file, plugins, output, out, everything)
        return

    from stowplan.cli.profiles import load_config
    from stowplan.cli.state import ClusterLogin, RunOptions, StateOptions, effective_release, open_state
    from stowplan.simulator.input import InputOptions
    from stowplan.simulator.report.changed_since_snapshot import changed_pods
    from stowplan.simulator.report.tables import TableStyle
    from stowplan.simulator.timeline import RunTimeline

    if any(is_scenario((name,)) for name in names):
        raise click.UsageError("A Scenario is the only FILE; it names manifests in 'manifests'.")
    if output == "junit" or out:
        raise click.UsageError(f"{'--out' if out else '-o junit'} needs a FILE of kind Scenario.")
    if sample:
        names = (*names, _sample())
    _check_usage(names, snapshot, from_cluster, kubeconfig or context)
    if watched and output not in ("table", "wide"):
        raise click.UsageError(f"--watch cannot be used with -o {output}.")
    registered = load_plugins(plugins)
    cluster = ClusterLogin(kubeconfig, context) if from_cluster else None
    given_options = InputOptions(namespace, strict, hpa, gang_jobs=gang_jobs)
    source = StateOptions(names, cluster, snapshot, given_options, max_input_size * 2**20, anonymize)
    decided_as = with_feature_gates(effective_release(release, source), feature_gates)
    config = load_config(config_file, registered, decided_as)
    timeline = RunTimeline(by_attempts=True) if output == "html" else None
    options = RunOptions(
        seed,
        examined_for(output, all_scores),
        always=True,
        watch=_watch if watched else None,
        timeline=timeline,
        fixed_gates=bool(feature_gates),
    )
    with (
        print_notes() as notes,
        Progress() as progress,
        open_state(source, config, registered, notes=notes, progress=progress, options=options) as state,
    ):
        report, plugin_bugs = report_of_state(state, by), state.plugin_bugs()
        if output == "html":
            from stowplan.cli.report import print_report

            print_report(state)
    news = changed_pods(report, include_still_pending=not state.source.names)
    if output in ("table", "wide"):
        shown = report if everything else news
        style = TableStyle(output == "wide", everything, None, state.live is not None, bool(by))
        print_tables(shown, style)
    elif output != "html":
        print_serialized(report, output)
    if plugin_bugs or news.pending or report.not_created:
        click.get_current_context().exit(ExitStatus.PLUGIN_BUG if plugin_bugs else ExitStatus.PENDING)


def _watch(simulation: Simulation, recorder: RunRecorder) -> None:
    from stowplan.cli.watch import watch_files

    watch_files(simulation, recorder, "stowplan simulate")
    click.echo()


def _sample() -> str:
    """The folder of the sample. Its path is printed, so that it can be copied."""
    from importlib.resources import files

    folder = str(files("stowplan.simulator") / "sample")
    click.echo(f"stowplan: the sample is in {folder}", err=True)
    return folder


def _check_usage(names: tuple[str, ...], snapshot: str, from_cluster: bool, only_with_cluster: str) -> None:
    if not names and not from_cluster and not snapshot:
        raise click.UsageError("Missing manifests (FILE), --from-cluster or --sample.")
    if snapshot and from_cluster:
        raise click.UsageError("--from and --from-cluster exclude each other.")
    if only_with_cluster and not from_cluster:
        raise click.UsageError("--kubeconfig and --context need --from-cluster.")
