"""`stowplan bench extender`: Stowplan's extender and one in Go."""

from collections.abc import Sequence
from functools import partial

import click

from stowplan.bench.extender import NAMES, ExtenderRunner
from stowplan.bench.extender.report import ExtenderFigures
from stowplan.cli.bench_options import fail_for, gather, json_option, names_option, seed_option, size_option
from stowplan.cli.bench_table import table
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress

_HEADINGS = ("workload", "nodes", "requests", "", "p50 ms", "p99 ms", "cpu ms", "rss MiB")


@click.command(cls=Command)
@names_option("workload", NAMES)
@size_option("--requests", "Requests to send", "workload")
@seed_option("Seed for the differences between requests.")
@json_option("workload")
def extender(names: Sequence[str], requests: int | None, seed: int, as_json: bool) -> None:
    """Measure Stowplan's extender and a plain one in Go with the same requests, by turns.

    Both read labels and allocatable of every node. The one in Go is built from benchmarks/rivals/extender and needs
    Go. The replies are compared; if one differs, the exit status is 1.

    \b
    full, names   requests with whole nodes of about 6 kB each, or with names only
    leak          memory growth over a thousand requests

    \b
    Examples:
      stowplan bench extender
      stowplan bench extender --json

    Exit status: 0 all replies are equal, 1 some differ, 2 a binary is missing or does not start.
    """
    progress = Progress(still=True)
    runner = ExtenderRunner(requests=requests, seed=seed, progress=progress.write_line)
    names = names or NAMES
    reports = gather(progress, runner.run(names), len(names), None if as_json else partial(table, _HEADINGS, _cells))
    disagreements = [f"{report.scenario}: {line}" for report in reports for line in report.disagreements]
    fail_for(disagreements, "replies that differ")


def _cells(figures: ExtenderFigures) -> tuple[str, ...]:
    return (
        f"{figures.p50_us / 1000:,.2f}",
        f"{figures.p99_us / 1000:,.2f}",
        f"{figures.cpu_us_per_pod / 1000:,.2f}",
        f"{figures.rss_mib:,.0f}",
    )
