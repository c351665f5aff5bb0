"""A file of lines that a thread appends to. Only the owner can read it: lines have names of pods and nodes."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Full, Queue
from typing import BinaryIO

from stowplan import logs
from stowplan.errors import ConfigError

log = logs.get(__name__)

_STANDARD_STREAMS = ("/dev/stdout", "/dev/stderr")
"""Symbolic links that may be followed; no other user can replace them."""
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
            self._stream: BinaryIO = os.fdopen(_open_private(path), "ab")
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


def _open_private(path: str) -> int:
    """A descriptor that appends to a file of mode 0600, which is created with this mode or narrowed to it.

    In a folder such as /tmp other users may prepare the path: a symbolic link and a file of another user are refused.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    if path in _STANDARD_STREAMS:
        return os.open(path, flags)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "Symbolic links are not followed") from error
        raise
    try:
        _make_private(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_private(descriptor: int) -> None:
    found = os.fstat(descriptor)
    if sys.platform == "win32" or not stat.S_ISREG(found.st_mode):
        return  # A terminal or a pipe.
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "The file belongs to another user")
    if stat.S_IMODE(found.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)
