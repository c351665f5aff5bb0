"""`stowplan bench latency`: pods that arrive at constant rates, beside kube-scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stowplan.bench.cluster.latency import LatencyReport, LatencySize, measure_latency
from stowplan.bench.cluster.workload import FLOOR, KUBE_SCHEDULER, OURS
from stowplan.cli.bench_options import gather, json_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned

_DEFAULT = LatencySize()
_SCHEDULERS = (FLOOR, KUBE_SCHEDULER, OURS)


@click.command(cls=Command)
@click.option("--nodes", type=click.IntRange(min=1), default=_DEFAULT.nodes, show_default=True, help="Nodes.")
@click.option(
    "--seconds", type=click.IntRange(min=1), default=_DEFAULT.seconds, show_default=True, help="Length of each rate."
)
@click.option(
    "--percent",
    "percents",
    type=click.IntRange(1, 100),
    multiple=True,
    default=_DEFAULT.percents,
    show_default=True,
    help="A rate, in percent of the ceiling; may be given again.",
)
@click.option(
    "--scheduler",
    "schedulers",
    type=click.Choice(_SCHEDULERS),
    multiple=True,
    help="Scheduler to run; may be given again. Default: all.",
)
@json_option("measurement")
def latency(nodes: int, seconds: int, percents: Sequence[int], schedulers: Sequence[str], as_json: bool) -> None:
    """Measure the time from the creation of pods to their binding, for kube-scheduler and Stowplan by turns.

    Pods arrive at shares of the ceiling: the rate at which a client that decides nothing binds pods. The floor is such
    a client that binds each pod as soon as its watch shows it: its latency is roughly that of the API server. Each has
    its own control plane.

    \b
    Examples:
      stowplan bench latency
      stowplan bench latency --percent 50 --seconds 5 --scheduler stowplan

    Exit status: 0 measured, 2 a binary is missing or does not start.
    """
    size = LatencySize(nodes, seconds, tuple(percents))
    progress = Progress(still=True)

    def reports() -> list[LatencyReport]:
        return [measure_latency(size, tuple(schedulers) or _SCHEDULERS, progress.write_line)]

    gather(progress, reports(), 1, None if as_json else table)


def table(reports: Sequence[LatencyReport]) -> list[str]:
    """Reports in aligned columns, followed by ratios."""
    rows: list[tuple[str, ...]] = [("", "rate", "pods", "p50 ms", "p99 ms", "max ms")]
    notes = []
    for report in reports:
        for name, figures in report.figures.items():
            for each in figures:
                times = (f"{ms:,.1f}" for ms in (each.p50_ms, each.p99_ms, each.max_ms))
                rows.append((name, f"{each.percent}%", f"{each.pods:,}", *times))
        notes.append(f"ceiling: {report.ceiling:,.0f} pods/s")
        if report.ratios:
            shares = ", ".join(f"{field} {ratio:.2f}" for field, ratio in report.ratios.items())
            notes.append(f"of {KUBE_SCHEDULER}'s: {shares}")
    return [*aligned(rows, left=(0,)), *notes]
