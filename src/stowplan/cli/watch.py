"""The view of a running simulation on a terminal, with its keys; without a terminal, one line per second."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console

if TYPE_CHECKING:
    from stowplan.simulator.report.recorder import RunRecorder
    from stowplan.simulator.simulation import Simulation
    from stowplan.simulator.watch import ClusterSummary, Playback, WatchedRun

_FRAME_SECONDS = 0.125
_LINE_SECONDS = 1.0
_FILE_RUN_SECONDS = 10.0
"""How long a run of manifests takes at its first speed, about."""
_KEY = re.compile(rb"\x1b\[[A-Z]|[^\x1b]")
_MAX_KEY_BYTES = 64


def watch_files(
    simulation: Simulation,
    recorder: RunRecorder,
    title: str,
    speed: float | None = None,
    duration: float | None = None,
) -> ClusterSummary:
    """Show a simulation until it is finished or `q` is pressed. `speed` is in attempts per second."""
    from stowplan.simulator.watch import FileRun

    simulation.settle()
    pods = len(simulation.engine.pending)
    run = FileRun(simulation, recorder, title)
    return watch(run, speed or max(1.0, round(pods / _FILE_RUN_SECONDS)), duration)


def watch(run: WatchedRun, speed: float, duration: float | None = None) -> ClusterSummary:
    """Show a run until it is finished or `q` is pressed, and return its last state."""
    from stowplan.simulator.watch import Playback

    console = Console(highlight=False)
    if not console.is_terminal:
        return _print_lines(Playback(run, time.monotonic, time.sleep, speed=speed, duration=duration))
    with _keyboard() as keyboard:
        playback = Playback(run, time.monotonic, keyboard.sleep, speed=speed, duration=duration)
        keyboard.playback = playback
        return _show_live(playback, console, keys=keyboard.is_open)


def _show_live(playback: Playback, console: Console, *, keys: bool) -> ClusterSummary:
    from rich.live import Live

    from stowplan.simulator.watch import live_view

    ascii_only = not (console.encoding or "").lower().startswith("utf")
    with Live(console=console, auto_refresh=False) as live:
        for summary in playback.frames(_FRAME_SECONDS):
            line = keys_line(playback, ascii_only) if keys else ""
            live.update(live_view(summary, *console.size, ascii_only=ascii_only, keys=line), refresh=True)
    return summary


def keys_line(playback: Playback, ascii_only: bool) -> str:
    """The keys, with the current speed."""
    speed = playback.run.speed_text.format(playback.speed)
    step, up_down = ("right", "up/down") if ascii_only else ("→", "↑ ↓")
    pause = "space go on (paused)" if playback.paused else "space pause"
    return f"q quit  {pause}  {step} one attempt  {up_down} speed {speed}"


def _print_lines(playback: Playback) -> ClusterSummary:
    from stowplan.simulator.watch import plain_line

    printed = 0
    for summary in playback.frames(_LINE_SECONDS):
        announcements = playback.run.events.announcements
        for entry in announcements[printed:]:
            click.echo(f"{entry.time:5.1f} s  {entry.text}")
        printed = len(announcements)
        click.echo(plain_line(summary))
        sys.stdout.flush()
    return summary


class _Keyboard:
    """Reads keys while the view waits for its next frame."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.playback: Playback | None = None

    @property
    def is_open(self) -> bool:
        return self._descriptor is not None

    def sleep(self, seconds: float) -> None:
        """Wait, or until a key is pressed, which takes effect at once."""
        if self._descriptor is None:
            time.sleep(seconds)
        elif select.select([self._descriptor], [], [], seconds)[0]:
            pressed = os.read(self._descriptor, _MAX_KEY_BYTES)
            if not pressed:
                self._descriptor = None
            assert self.playback is not None
            press(self.playback, pressed)


def press(playback: Playback, pressed: bytes) -> None:
    """Carry out keys that were read together, in their order."""
    for key in _KEY.findall(pressed):
        if key == b"\x1b[A":
            playback.faster()
        elif key == b"\x1b[B":
            playback.slower()
        elif key == b"\x1b[C":
            playback.step()
        elif key == b" ":
            playback.paused = not playback.paused
        elif key in b"qQ":
            playback.stopped = True


@contextmanager
def _keyboard() -> Iterator[_Keyboard]:
    """Standard input without line buffering and echo, if it is a terminal in the foreground."""
    if sys.stdin is None or not sys.stdin.isatty() or os.getpgrp() != os.tcgetpgrp(sys.stdin.fileno()):
        yield _Keyboard(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
