"""`stowplan bench cluster`: our scheduler beside others, on a real control plane."""

from collections.abc import Sequence

import click

from stowplan.bench.cluster import NAMES, PEERS, Runner
from stowplan.bench.cluster.heat import Figures
from stowplan.cli.bench_table import table

_HEADINGS = ("workload", "nodes", "pods", "", "pods/s", "cpu us", "first bind s", "rss MiB", "others")


@click.command()
@click.option(
    "--workload",
    "names",
    type=click.Choice(NAMES),
    multiple=True,
    metavar="NAME",
    help=f"Workload to run; may be given again. All, unless given: {', '.join(NAMES)}.",
)
@click.option("--nodes", type=click.IntRange(min=1), help="Nodes in the cluster, instead of the workload's own number.")
@click.option("--pods", type=click.IntRange(min=1), help="Pods to schedule, instead of the workload's own number.")
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
@click.option("--seed", type=int, default=0, show_default=True, help="For the images that nodes hold.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a workload, a line each.")
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
    """
    runner = Runner(
        nodes=nodes,
        pods=pods,
        peers=tuple(peers) or PEERS,
        rounds=rounds,
        seed=seed,
        progress=lambda message: click.echo(message, err=True),
    )
    reports = []
    for report in runner.run(names or NAMES):
        reports.append(report)
        if as_json:
            click.echo(report.to_json())
    if not as_json:
        click.echo("\n".join(table(_HEADINGS, reports, _cells)))


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        f"{figures.per_second:,.0f}",
        f"{figures.cpu_us_per_pod:,.0f}",
        f"{figures.first_bind_s:.1f}",
        f"{figures.rss_mib:,.0f}",
        f"{figures.others_cpu_share:.0%}",
    )
