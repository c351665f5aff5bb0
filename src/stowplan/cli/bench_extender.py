"""`stowplan bench extender`: our extender beside a plain one in Go."""

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
@seed_option("For what changes between requests.")
@json_option("workload")
def extender(names: Sequence[str], requests: int | None, seed: int, as_json: bool) -> None:
    """Measure our extender beside a plain one in Go, asked the same by turns.

    Both read labels and allocatable of every node. The one in Go is built from benchmarks/rivals/extender, which takes
    Go. Answers are compared, and must say the same; if one does not, the exit status is 1.

    \b
    full, names   nodes in full, some 6 kB each, or by name alone
    leak          a thousand requests in a row, and the memory that they leave behind

    \b
    Examples:
      stowplan bench extender
      stowplan bench extender --json

    Exit status: 0 all answers said the same, 1 some did not, 2 a part is missing or does not start.
    """
    progress = Progress(still=True)
    runner = ExtenderRunner(requests=requests, seed=seed, progress=progress.tell)
    names = names or NAMES
    reports = gather(progress, runner.run(names), len(names), None if as_json else partial(table, _HEADINGS, _cells))
    disagreements = [f"{report.scenario}: {line}" for report in reports for line in report.disagreements]
    fail_for(disagreements, "answers that are not the same")


def _cells(figures: ExtenderFigures) -> tuple[str, ...]:
    return (
        f"{figures.p50_us / 1000:,.2f}",
        f"{figures.p99_us / 1000:,.2f}",
        f"{figures.cpu_us_per_pod / 1000:,.2f}",
        f"{figures.rss_mib:,.0f}",
    )
