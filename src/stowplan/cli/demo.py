"""`stowplan demo`: a live view of a scheduler on a simulated cluster."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from stowplan.cli.command import Command
from stowplan.cli.streams import print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from stowplan.simulator.demo import ClusterSummary, Playback

_FRAME_SECONDS = 0.125
_LINE_SECONDS = 1.0


@click.command(cls=Command)
@click.option("--nodes", type=click.IntRange(3, 5000), default=300, show_default=True, help="Nodes in the cluster.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for ties between nodes.")
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Simulated seconds per second.",
)
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Stop after at most this many seconds.")
def demo(nodes: int, seed: int, speed: float, duration: float | None) -> None:
    """Watch a scheduler fill a simulated cluster of 300 nodes in three zones, in this process, for forty seconds.

    The scenario has a DaemonSet, Deployments spread over zones, caches with anti-affinity, databases with volumes,
    gated pods, batch jobs that fill the remaining capacity, urgent pods that preempt some of them, pods that never fit,
    and nodes that fail. Each cell of the map is a node; its height is the node's utilization. Without a terminal one
    line per second is printed.

    \b
    Examples:
      stowplan demo
      stowplan demo --speed 4
      stowplan demo --nodes 30 --seed 7 --duration 10

    Set NO_COLOR to disable colours. Exit status: 0 finished, 130 interrupted.
    """
    from rich.console import Console

    from stowplan.simulator.demo import Playback, ScenarioRun, final_lines, load_scenario
    from stowplan.simulator.report import report_of

    console = Console(highlight=False)
    run = ScenarioRun(load_scenario(), nodes, seed)
    playback = Playback(run, time.monotonic, time.sleep, speed=speed, duration=duration)
    last = _show_live(playback, console) if console.is_terminal else _print_lines(playback)
    report = report_of(run.simulation, run.recorder, {})
    print_lines(console, final_lines(report, last, console.width if console.is_terminal else None))


def _show_live(playback: Playback, console: Console) -> ClusterSummary:
    from rich.live import Live

    from stowplan.simulator.demo import live_view

    ascii_only = not (console.encoding or "").lower().startswith("utf")
    summary = None
    with Live(console=console, auto_refresh=False) as live:
        for summary in playback.frames(_FRAME_SECONDS):
            live.update(live_view(summary, *console.size, ascii_only=ascii_only), refresh=True)
    assert summary is not None
    return summary


def _print_lines(playback: Playback) -> ClusterSummary:
    from stowplan.simulator.demo import plain_line

    summary = None
    printed = 0
    for summary in playback.frames(_LINE_SECONDS):
        announcements = playback.run.events.announcements
        for entry in announcements[printed:]:
            click.echo(f"{entry.time:5.1f} s  {entry.text}")
        printed = len(announcements)
        click.echo(plain_line(summary))
        sys.stdout.flush()
    assert summary is not None
    return summary
