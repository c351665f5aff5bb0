"""`stowplan bench overload`: pending pods of which few fit, beside kube-scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stowplan.bench.cluster.overload import OverloadFigures, OverloadReport, OverloadSize, measure_overload
from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS
from stowplan.cli.bench_options import Option, gather, json_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned

_DEFAULT = OverloadSize()
_HEADINGS = ("", "cpu", "bound", "freed", "p50 ms", "p99 ms", "max ms", "inversions", "attempts", "rss MiB")
_SCHEDULERS = (KUBE_SCHEDULER, OURS)


def _number(name: str, default: int, about: str) -> Option:
    return click.option(name, type=click.IntRange(min=1), default=default, show_default=True, help=about)


@click.command(cls=Command)
@_number("--nodes", _DEFAULT.nodes, "Nodes, each full.")
@_number("--pods", _DEFAULT.pods, "Pending pods.")
@_number("--templates", _DEFAULT.templates, "Templates of pending pods, each with a priority of its own.")
@_number("--ending-per-second", _DEFAULT.ending_per_second, "Running pods that end in a second.")
@_number("--seconds", _DEFAULT.seconds, "Length of the measurement.")
@click.option(
    "--scheduler",
    "schedulers",
    type=click.Choice(_SCHEDULERS),
    multiple=True,
    help="Scheduler to run; may be given again. Default: both.",
)
@json_option("measurement")
def overload(
    nodes: int,
    pods: int,
    templates: int,
    ending_per_second: int,
    seconds: int,
    schedulers: Sequence[str],
    as_json: bool,
) -> None:
    """Measure a full cluster with many more pods than fit, for kube-scheduler and Stowplan by turns.

    Every pending pod is tried once; then running pods end at a constant rate, and each frees a place for one pod.

    \b
    cpu          CPU seconds of the scheduler per second
    p50 ms       time from the end of a running pod to the binding of a pod on its node
    inversions   bindings of a pod while a pod of a higher priority was pending
    attempts     attempts that found no node

    \b
    Examples:
      stowplan bench overload
      stowplan bench overload --nodes 100 --pods 1000 --seconds 10 --json

    Exit status: 0 measured, 2 a binary is missing or does not start.
    """
    size = OverloadSize(nodes, pods, templates, ending_per_second, seconds)
    progress = Progress(still=True)

    def reports() -> list[OverloadReport]:
        return [measure_overload(size, tuple(schedulers) or _SCHEDULERS, progress.write_line)]

    gather(progress, reports(), 1, None if as_json else table)


def table(reports: Sequence[OverloadReport]) -> list[str]:
    """Reports in aligned columns, followed by ratios."""
    rows: list[tuple[str, ...]] = [_HEADINGS]
    notes = []
    for report in reports:
        rows += [(name, *_cells(figures)) for name, figures in report.figures.items()]
        if report.ratios:
            shares = ", ".join(f"{field} {ratio:.3f}" for field, ratio in report.ratios.items())
            notes.append(f"of {KUBE_SCHEDULER}'s: {shares}")
    return [*aligned(rows, left=(0,)), *notes]


def _cells(figures: OverloadFigures) -> tuple[str, ...]:
    return (
        f"{figures.cpu_share:.3f}",
        f"{figures.bound:,}",
        f"{figures.freed:,}",
        f"{figures.p50_ms:,.0f}",
        f"{figures.p99_ms:,.0f}",
        f"{figures.max_ms:,.0f}",
        f"{figures.inversions:,}",
        f"{figures.attempts:,}",
        f"{figures.rss_mib:,.0f}",
    )
