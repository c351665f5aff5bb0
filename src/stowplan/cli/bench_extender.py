"""`stowplan bench extender`: our extender beside a plain one in Go."""

from collections.abc import Sequence

import click

from stowplan.bench.extender import NAMES, Runner
from stowplan.bench.extender.report import Figures
from stowplan.cli.bench_table import table

DISAGREED = 1
SHOWN = 10

_HEADINGS = ("workload", "nodes", "requests", "", "p50 ms", "p99 ms", "cpu ms", "rss MiB")


@click.command()
@click.option(
    "--workload",
    "names",
    type=click.Choice(NAMES),
    multiple=True,
    metavar="NAME",
    help=f"Workload to run; may be given again. All, unless given: {', '.join(NAMES)}.",
)
@click.option("--requests", type=click.IntRange(min=1), help="Requests to send, instead of the workload's own number.")
@click.option("--seed", type=int, default=0, show_default=True, help="For what changes between requests.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a workload, a line each.")
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
    """
    runner = Runner(requests=requests, seed=seed, progress=lambda message: click.echo(message, err=True))
    reports = []
    for report in runner.run(names or NAMES):
        reports.append(report)
        if as_json:
            click.echo(report.to_json())
    if not as_json:
        click.echo("\n".join(table(_HEADINGS, reports, _cells)))
    disagreements = [f"{report.scenario}: {line}" for report in reports for line in report.disagreements]
    if disagreements:
        for line in disagreements[:SHOWN]:
            click.echo(f"stowplan: {line}", err=True)
        click.get_current_context().exit(DISAGREED)


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        f"{figures.p50_us / 1000:,.2f}",
        f"{figures.p99_us / 1000:,.2f}",
        f"{figures.cpu_us_per_pod / 1000:,.2f}",
        f"{figures.rss_mib:,.0f}",
    )
