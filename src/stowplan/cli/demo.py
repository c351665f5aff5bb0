"""`stowplan demo`: a scheduler at work, to be looked at."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import Command
from stowplan.cli.printing import print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from stowplan.simulator.demo import ClusterSummary, Playback

_FRAME = 0.125
_LINE = 1.0


@click.command(cls=Command)
@click.option("--nodes", type=click.IntRange(3, 5000), default=300, show_default=True, help="Nodes in the cluster.")
@click.option("--seed", type=int, default=0, show_default=True, help="For ties between nodes.")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Simulated seconds that pass in a second.",
)
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Stop after so many seconds at the latest.")
def demo(nodes: int, seed: int, speed: float, duration: float | None) -> None:
    """Watch a scheduler fill a cluster: 300 nodes in three zones, in this process, forty seconds.

    Agents for all nodes, Deployments spread over zones, caches that keep apart, databases with volumes, gated pods,
    batch jobs that fill what is left, an urgent wave that evicts some of them, pods that never fit, nodes that fail. A
    cell of the map is a node, the higher the fuller. Without a terminal a line a second tells the same.

    \b
    Examples:
      stowplan demo
      stowplan demo --speed 4
      stowplan demo --nodes 30 --seed 7 --duration 10

    Colours are for terminals, and not where NO_COLOR is set. Exit status: 0 it has ended, 130 it was interrupted.
    """
    from rich.console import Console

    from stowplan.simulator.demo import Playback, ScenarioRun, final_lines, load_scenario
    from stowplan.simulator.report import report_of

    console = Console(highlight=False)
    stage = ScenarioRun(load_scenario(), nodes, seed)
    drive = Playback(stage, time.monotonic, time.sleep, speed=speed, duration=duration)
    last = _show_live(drive, console) if console.is_terminal else _print_lines(drive)
    report = report_of(stage.simulation, stage.recorder, {})
    print_lines(console, final_lines(report, last, console.width if console.is_terminal else None))


def _show_live(drive: Playback, console: Console) -> ClusterSummary:
    from rich.live import Live

    from stowplan.simulator.demo import live_view

    ascii_only = not (console.encoding or "").lower().startswith("utf")
    glimpse = None
    with Live(console=console, auto_refresh=False) as live:
        for glimpse in drive.frames(_FRAME):
            live.update(live_view(glimpse, *console.size, ascii_only=ascii_only), refresh=True)
    assert glimpse is not None
    return glimpse


def _print_lines(drive: Playback) -> ClusterSummary:
    from stowplan.simulator.demo import plain_line

    glimpse = None
    told = 0
    for glimpse in drive.frames(_LINE):
        announcements = drive.stage.feed.announcements
        for entry in announcements[told:]:
            click.echo(f"{entry.time:5.1f} s  {entry.text}")
        told = len(announcements)
        click.echo(plain_line(glimpse))
        sys.stdout.flush()
    assert glimpse is not None
    return glimpse
