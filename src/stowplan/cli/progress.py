"""Progress bar for commands that take longer than two seconds."""

from __future__ import annotations

import sys
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

BAR_DELAY_SECONDS = 2.0


class Progress:
    """A bar on standard error, if that is a terminal: shown after two seconds, removed when the work is done.

    With `still` it is shown at once and redrawn only on changes, so that it takes no CPU time during measurements.
    Use `write_line` to print while the bar is shown.
    """

    def __init__(self, *, still: bool = False) -> None:
        self._still = still
        self._timer = Timer(BAR_DELAY_SECONDS, self._show)
        self._timer.daemon = True
        self._bar: Bar | None = None
        self._what = ""
        self._total: int | None = None
        self._done = 0

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            if self._still:
                self._show()
            else:
                self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def start(self, what: str, total: int | None = None) -> None:
        """Starts a step of the work. Without `total` the bar is indeterminate."""
        self._what, self._total, self._done = what, total, 0
        self._update()

    def reach(self, done: int) -> None:
        """Sets the completed amount of the current step."""
        self._done = done
        if self._bar is not None:
            self._update()

    def hide(self) -> None:
        """Remove the bar for good, for output that uses the whole terminal."""
        self._timer.cancel()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def write_line(self, line: str | bytes, *, err: bool = True) -> None:
        """Prints a line above the bar."""
        if self._bar is not None:
            self._bar.stop()
        click.echo(line, err=err)
        if self._bar is not None:
            self._bar.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        bar = Bar(
            console=Console(stderr=True),
            transient=True,
            auto_refresh=not self._still,
            redirect_stdout=False,  # Rich would redirect standard output to standard error.
        )
        bar.add_task(self._what, total=None)
        bar.start()
        self._bar = bar
        self._update()

    def _update(self) -> None:
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._what, total=self._total, completed=self._done, refresh=self._still)
