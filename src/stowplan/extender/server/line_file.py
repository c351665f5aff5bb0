"""A file of lines that a thread appends to. Only the owner can read it: lines have names of pods and nodes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Full, Queue
from typing import BinaryIO

from stowplan import logs
from stowplan.errors import ConfigError
from stowplan.traces.private_files import open_private

log = logs.get(__name__)

_MAX_QUEUED = 64
_MAX_QUEUED_BYTES = 256 << 20
"""Bytes that queued lines may keep in memory; a request has tens of megabytes."""
Lines = Callable[[], Iterable[bytes]]
"""Creates lines, on the writing thread."""


class LineFile:
    """Appends lines without blocking the caller. Lines that cannot be written fast enough are dropped, which is logged
    on close."""

    def __init__(self, path: str) -> None:
        """Raises ConfigError where the file cannot be written."""
        self.path = path
        self.dropped = 0
        try:
            self._stream: BinaryIO = os.fdopen(open_private(path, append=True), "ab")
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error
        self._queue: Queue[tuple[Lines, int] | None] = Queue(_MAX_QUEUED)
        self._lock = threading.Lock()
        self._waiting = 0
        self._thread = threading.Thread(target=self._write, name="lines", daemon=True)
        self._thread.start()

    def put(self, lines: Lines, size: int = 0) -> None:
        """`size` is how many bytes the lines keep in memory until they are written."""
        with self._lock:
            if self._waiting and self._waiting + size > _MAX_QUEUED_BYTES:
                self.dropped += 1
                return
            self._waiting += size
        try:
            self._queue.put_nowait((lines, size))
        except Full:
            self.dropped += 1
            self._written(size)

    def close(self, timeout: float = 5.0) -> None:
        """Write the queued lines, within a time limit."""
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
                del lines, next_  # Frees the memory that they reference before the next lines arrive.
                self._written(size)

    def _written(self, size: int) -> None:
        with self._lock:
            self._waiting -= size
