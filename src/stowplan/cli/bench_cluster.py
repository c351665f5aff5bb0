"""`stowplan bench cluster`: Stowplan and kube-scheduler on a real control plane."""

from collections.abc import Sequence
from functools import partial

import click

from stowplan.bench.cluster import NAMES, PEERS, VISITED, ClusterRunner
from stowplan.bench.cluster.run import Figures
from stowplan.cli.bench_options import gather, json_option, names_option, seed_option, size_option
from stowplan.cli.bench_table import table
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress

_HEADINGS = (
    "workload",
    "nodes",
    "pods",
    "",
    "pods/s",
    "cpu us",
    "first bind s",
    "rss MiB",
    "unschedulable",
    "victims",
    "others",
)


@click.command(cls=Command)
@names_option("workload", NAMES)
@size_option("--nodes", "Nodes in the cluster", "workload")
@size_option("--pods", "Pods to schedule", "workload")
@click.option(
    "--peer",
    "--peers",
    "peers",
    type=click.Choice((*PEERS, *VISITED, "none")),
    multiple=True,
    metavar="NAME",
    help=f"Scheduler to compare with; may be given again. Default: all of {', '.join(PEERS)}; 'none' disables them. "
    "On request: Stowplan itself, 'explained' (one pod a second), 'viewed' (with one viewer of its page).",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of turns of each scheduler; figures are medians.",
)
@seed_option("Seed for the images on nodes.")
@json_option("workload")
def cluster(
    names: Sequence[str],
    nodes: int | None,
    pods: int | None,
    peers: Sequence[str],
    rounds: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure Stowplan and other schedulers by turns on the same real API server.

    Needs etcd, kube-apiserver and kube-scheduler on this machine; `python -m stowplan.testing build` builds them. All
    workloads with 5,000 nodes take about twelve minutes on two otherwise idle cores, one workload two or three minutes.
    The speed of shared machines varies by about 20 %: use --rounds to average it out.

    \b
    kube-scheduler   stock kube-scheduler without its client-side rate limit
    ceiling          binds round robin and writes events without deciding: an upper bound
    cpu us           CPU time of the scheduler process per pod
    first bind s     time from the start of the process to the first binding
    unschedulable    attempts that found no node
    victims          pods chosen to be evicted by preemption
    others           share of the machine's CPU time used by other processes; rates are unreliable if it is high

    \b
    Examples:
      stowplan bench cluster --workload basic --workload spread
      stowplan bench cluster --nodes 500 --pods 2000 --peer none --json

    Exit status: 0 measured, even if a target was missed; 2 a binary is missing or does not start.
    """
    progress = Progress(still=True)
    peers = tuple(peers) or PEERS
    runner = ClusterRunner(nodes=nodes, pods=pods, peers=peers, rounds=rounds, seed=seed, progress=progress.write_line)
    names = names or NAMES
    gather(progress, runner.run(names), len(names), None if as_json else partial(table, _HEADINGS, _cells))


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        f"{figures.per_second:,.0f}",
        f"{figures.cpu_us_per_pod:,.0f}",
        f"{figures.first_bind_s:.1f}",
        f"{figures.rss_mib:,.0f}",
        _count(figures.unschedulable_attempts),
        _count(figures.victims),
        f"{figures.others_cpu_share:.0%}",
    )


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
