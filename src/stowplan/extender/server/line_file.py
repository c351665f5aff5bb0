"""Files that grow by a line at a time, written by a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Full, Queue
from typing import BinaryIO

from stowplan import logs
from stowplan.errors import ConfigError

log = logs.get(__name__)

_MOST_WAITING = 64
_MOST_BYTES = 256 << 20
"""What lines may hold on to while they wait: requests of some tens of megabytes would fill the memory otherwise."""
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
        self._queue: Queue[tuple[Lines, int] | None] = Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._waiting = 0
        self._thread = threading.Thread(target=self._write, name="lines", daemon=True)
        self._thread.start()

    def put(self, lines: Lines, size: int = 0) -> None:
        """`size` is how many bytes the lines keep in memory until they are written."""
        with self._lock:
            if self._waiting and self._waiting + size > _MOST_BYTES:
                self.dropped += 1
                return
            self._waiting += size
        try:
            self._queue.put_nowait((lines, size))
        except Full:
            self.dropped += 1
            self._written(size)

    def close(self, timeout: float = 5.0) -> None:
        """Write what is waiting, within a time."""
        with suppress(Full):  # which it only stays where the disk does not answer
            self._queue.put(None, timeout=timeout)
        self._thread.join(timeout)
        if self.dropped:
            log.warning(
                "Lines were dropped, they came faster than they could be written", file=self.path, n=self.dropped
            )

    def _write(self) -> None:
        with self._stream as stream:
            while (next_ := self._queue.get()) is not None:
                lines, size = next_
                try:
                    stream.writelines(line + b"\n" for line in lines())
                    stream.flush()
                except Exception as problem:
                    log.error(problem, "Failed to write a line", file=self.path)
                del lines, next_  # What they keep in memory is not to stay there until the next ones come.
                self._written(size)

    def _written(self, size: int) -> None:
        with self._lock:
            self._waiting -= size
