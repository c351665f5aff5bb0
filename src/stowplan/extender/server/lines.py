"""Files that grow by a line at a time, written by a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from queue import Full, Queue
from typing import BinaryIO

from stowplan.errors import ConfigError
from stowplan.observe import logs

log = logs.get(__name__)

_MOST_WAITING = 64
Lines = Callable[[], Iterable[bytes]]
"""Makes lines, on the writing thread."""


class LineFile:
    """Appends lines. Who puts them never waits: what the disk or the making of lines cannot keep up with is dropped,
    and said so at the end."""

    def __init__(self, path: str) -> None:
        """Raises ConfigError where the file cannot be written."""
        self.path = path
        self.dropped = 0
        try:
            self._stream: BinaryIO = open(path, "ab")  # noqa: SIM115  # it stays open as long as the server
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error
        self._queue: Queue[Lines | None] = Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._write, name="lines", daemon=True)
        self._thread.start()

    def put(self, lines: Lines) -> None:
        try:
            self._queue.put_nowait(lines)
        except Full:
            self.dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Write what is waiting, within a time."""
        self._queue.put(None)
        self._thread.join(timeout)
        if self.dropped:
            log.warning(
                "Lines were dropped, they came faster than they could be written", file=self.path, n=self.dropped
            )

    def _write(self) -> None:
        with self._stream as stream:
            while (lines := self._queue.get()) is not None:
                try:
                    stream.writelines(line + b"\n" for line in lines())
                    stream.flush()
                except Exception as problem:
                    log.error(problem, "Failed to write a line", file=self.path)
