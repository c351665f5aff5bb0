"""`stowplan bench sizes`: the start in a large cluster, in front of a stand-in of the API server."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stowplan.bench.sizes.runner import MAX_RSS_MIB, MAX_START_SECONDS, ClusterSize, SizeReport, measure_sizes
from stowplan.cli.bench_options import gather, json_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned

_DEFAULT = ClusterSize()
_COLUMNS = ("nodes", "pods", "start s", "scaled s", "cpu s", "binds/s", "peak MiB", "rss MiB")


@click.command(cls=Command)
@click.option("--nodes", type=click.IntRange(min=1), default=_DEFAULT.nodes, show_default=True, help="Nodes.")
@click.option("--pods", type=click.IntRange(min=1), default=_DEFAULT.pods, show_default=True, help="Running pods.")
@click.option(
    "--new-pods",
    type=click.IntRange(min=1),
    default=_DEFAULT.new_pods,
    show_default=True,
    help="Pods that are created when the scheduler is ready.",
)
@json_option("measurement")
def sizes(nodes: int, pods: int, new_pods: int, as_json: bool) -> None:
    """Measure the start of the scheduler in a large cluster: time to the first binding, memory, and bindings after it.

    A stand-in replaces the API server: it generates pages of nodes and pods of realistic size before the start, serves
    them over plain HTTP, and confirms bindings by a watch. It has no admission, storage or encryption, so its times are
    not those of a real API server.

    \b
    start s      from the start of the process to the first binding
    scaled s     the same on a machine that takes one second for a loop of ten million additions
    cpu s        CPU time of the process up to then
    peak MiB     maximum of resident memory

    \b
    Examples:
      stowplan bench sizes
      stowplan bench sizes --nodes 5000 --pods 50000 --json

    Exit status: 0 measured, 2 a process does not start.
    """
    progress = Progress(still=True)

    def reports() -> list[SizeReport]:
        return [measure_sizes(ClusterSize(nodes, pods, new_pods), progress.write_line)]

    gather(progress, reports(), 1, None if as_json else table)


def table(reports: Sequence[SizeReport]) -> list[str]:
    """Reports in aligned columns, with the limits for the default size."""
    rows = [_COLUMNS, *map(_cells, reports)]
    limits = f"limits for {_DEFAULT.nodes:,} nodes and {_DEFAULT.pods:,} pods"
    return [*aligned(rows, left=()), f"{limits}: {MAX_START_SECONDS:.0f} s scaled, {MAX_RSS_MIB:,} MiB"]


def _cells(report: SizeReport) -> tuple[str, ...]:
    times = (f"{seconds:.1f}" for seconds in (report.start_s, report.scaled_start_s, report.start_cpu_s))
    amounts = (f"{number:,.0f}" for number in (report.binds_per_second, report.peak_rss_mib, report.rss_mib))
    return (f"{report.size.nodes:,}", f"{report.size.pods:,}", *times, *amounts)
