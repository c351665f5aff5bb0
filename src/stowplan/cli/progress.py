"""A bar for what takes longer than people like to wait without a sign of life."""

from __future__ import annotations

import sys
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE = 2.0


class Progress:
    """Shown on standard error after two seconds, if that is a terminal; gone when the work is done.

    One that is still is shown at once and drawn anew only when there is news, so that it costs no time while something
    is measured. Lines meanwhile are written with `tell`.
    """

    def __init__(self, *, still: bool = False) -> None:
        self._still = still
        self._timer = Timer(PATIENCE, self._show)
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
        """Begin with a part of the work; without a total nobody knows how long it takes."""
        self._what, self._total, self._done = what, total, 0
        self._update()

    def reach(self, done: int) -> None:
        """So much of the part is done."""
        self._done = done
        if self._bar is not None:
            self._update()

    def tell(self, line: str | bytes, *, err: bool = True) -> None:
        """Write a line, for which a bar makes room."""
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
            redirect_stdout=False,  # Rich would send what is written there to standard error.
        )
        bar.add_task(self._what, total=None)
        bar.start()
        self._bar = bar
        self._update()

    def _update(self) -> None:
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._what, total=self._total, completed=self._done, refresh=self._still)
