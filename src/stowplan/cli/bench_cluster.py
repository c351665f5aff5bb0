"""`stowplan bench cluster`: our scheduler beside others, on a real control plane."""

from collections.abc import Sequence
from functools import partial

import click

from stowplan.bench.cluster import NAMES, PEERS, ClusterRunner
from stowplan.bench.cluster.run import Figures
from stowplan.cli.bench_options import gather, json_option, names_option, seed_option, size_option
from stowplan.cli.bench_table import table
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress

_HEADINGS = ("workload", "nodes", "pods", "", "pods/s", "cpu us", "first bind s", "rss MiB", "others")


@click.command(cls=Command)
@names_option("workload", NAMES)
@size_option("--nodes", "Nodes in the cluster", "workload")
@size_option("--pods", "Pods to schedule", "workload")
@click.option(
    "--peer",
    "--peers",
    "peers",
    type=click.Choice((*PEERS, "none")),
    multiple=True,
    metavar="NAME",
    help=f"Whom to compare with; may be given again. All, unless given: {', '.join(PEERS)}. Nobody: none.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often each contestant takes its turn; the figures are medians then.",
)
@seed_option("For the images that nodes hold.")
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
    """Measure our scheduler on a real API server, beside others on the same one.

    etcd, kube-apiserver and kube-scheduler have to be on this machine: `make control-plane` builds them. All of it,
    with 5,000 nodes, takes some twelve minutes of two cores that have nothing else to do; one workload two or three.
    A shared machine is faster at one time than at another, by a fifth or so: --rounds evens that out.

    \b
    kube-scheduler   the stock one, its own rate limit lifted
    ceiling          binds round robin and writes the events, but decides nothing
    cpu us           CPU time of the scheduler alone for a pod
    first bind s     from the start of the process
    others           the share of the machine's CPU time that went elsewhere: rates say little where it is not small

    \b
    Examples:
      stowplan bench cluster --workload basic --workload spread
      stowplan bench cluster --nodes 500 --pods 2000 --peer none --json

    Exit status: 0 all was measured, whether or not it is enough, 2 a part is missing or does not start.
    """
    progress = Progress(still=True)
    peers = tuple(peers) or PEERS
    runner = ClusterRunner(nodes=nodes, pods=pods, peers=peers, rounds=rounds, seed=seed, progress=progress.tell)
    names = names or NAMES
    gather(progress, runner.run(names), len(names), None if as_json else partial(table, _HEADINGS, _cells))


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        f"{figures.per_second:,.0f}",
        f"{figures.cpu_us_per_pod:,.0f}",
        f"{figures.first_bind_s:.1f}",
        f"{figures.rss_mib:,.0f}",
        f"{figures.others_cpu_share:.0%}",
    )
