"""`stowplan bench groups`: decisions about pod groups."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stowplan.bench.groups import GROUP_SCENARIOS, GroupFigures, GroupTrialRunner
from stowplan.cli.bench_options import gather, json_option, names_option, seed_option
from stowplan.cli.command import Command
from stowplan.cli.progress import Progress
from stowplan.cli.streams import aligned

_HEADINGS = ("scenario", "nodes", "members", "domains", "bound", "ms", "cpu ms", "scaled", "bar")


@click.command(cls=Command)
@click.option("--nodes", type=click.IntRange(min=1), default=5000, show_default=True, help="Nodes in the cluster.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Groups of each scenario.")
@names_option("scenario", tuple(GROUP_SCENARIOS))
@seed_option("Seed for ties between nodes.")
@json_option("scenario")
def groups(nodes: int, rounds: int, names: Sequence[str], seed: int, as_json: bool) -> None:
    """Measure pod groups in this process: from a gang in the queue to the Bind instructions of all members.

    \b
    scaled   cpu ms, normalized to a calibration loop of one second
    bar      maximum of scaled with 5,000 nodes

    \b
    Examples:
      stowplan bench groups
      stowplan bench groups --scenario gang --nodes 500 --json

    Exit status: 0 measured.
    """
    runner = GroupTrialRunner(node_count=nodes, rounds=rounds, seed=seed)
    chosen = [GROUP_SCENARIOS[name] for name in names or GROUP_SCENARIOS]
    progress = Progress(still=True)
    gather(progress, (runner.run(each) for each in chosen), len(chosen), None if as_json else table)


def table(figures: Sequence[GroupFigures]) -> list[str]:
    """Figures in aligned columns."""
    return aligned([_HEADINGS, *(_row(each) for each in figures)])


def _row(each: GroupFigures) -> tuple[str, ...]:
    times = tuple(f"{ms:,.1f}" for ms in (each.wall_ms, each.cpu_ms, each.scaled_ms))
    bar = "-" if each.max_scaled_ms is None else f"{each.max_scaled_ms:,.0f}"
    domains = f"{each.domains:,}" if each.domains else "-"
    return (each.scenario, f"{each.nodes:,}", f"{each.members:,}", domains, f"{each.bound:,}", *times, bar)
