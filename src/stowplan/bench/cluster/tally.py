"""Counts pods as they are bound, at as little cost to the machine as can be."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from stowplan.testing import NotInTime, SurroundingsError

T = TypeVar("T")

_ADDED = b'{"type":"ADDED"'
_REQUEST = (
    "GET {path}?watch=true&resourceVersion={version}&fieldSelector=spec.nodeName%21%3D HTTP/1.0\r\n"
    "Host: {host}\r\n"
    "Authorization: Bearer {token}\r\n"
    "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n\r\n"
)
_SILENCE = 0.2


class FrameCounter:
    """Counts the frames of a watch in a stream of bytes, whatever its pieces are."""

    def __init__(self) -> None:
        self.frames = 0
        self.added = 0
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        data = self._rest + piece
        self.frames += piece.count(b"\n")
        self.added += data.count(_ADDED)
        self._rest = data[1 - len(_ADDED) :]  # too short to hold what is counted already


class Tally(Generic[T]):
    """Watches pods that have a node, without their specs, from a version on. A thread of its own reads the watch.

    What `probe` says is kept of two moments: when the first frame came, whatever it told, and when the last of
    `expected` pods was bound.
    """

    def __init__(self, path: str, version: str, expected: int, probe: Callable[[], T]) -> None:
        self._path = path
        self._version = version
        self._expected = expected
        self._probe = probe
        self._counter = FrameCounter()
        self._over = threading.Event()
        self._closing = False
        self._problem = ""
        self._first: T | None = None
        self._last: T | None = None

    @property
    def bound(self) -> int:
        return self._counter.added

    def open(self, url: str, tls: ssl.SSLContext, token: str) -> None:
        """Begin to watch; what happens from now on is counted."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
        self._stream = tls.wrap_socket(socket.create_connection((host, port)), server_hostname=host)
        request = _REQUEST.format(path=self._path, version=self._version, host=f"{host}:{port}", token=token)
        try:
            self._stream.sendall(request.encode())
            self._begin()
        except BaseException:
            self._stream.close()
            raise
        self._thread = threading.Thread(target=self._read, name="tally", daemon=True)
        self._thread.start()

    def wait(self, timeout: float, alive: Callable[[], bool]) -> tuple[T, T]:
        """Wait until all expected pods are bound; what `probe` said. Raises NotInTime."""
        deadline = monotonic() + timeout
        while not self._over.wait(0.5):
            if not alive():
                raise SurroundingsError(f"the scheduler ended after {self.bound:,} of {self._expected:,} pods")
            if monotonic() > deadline:
                raise NotInTime(f"{self.bound:,} of {self._expected:,} pods were bound in {timeout:g} s")
        if self._first is None or self._last is None:
            raise SurroundingsError(f"watch of {self._path}: {self._problem}")
        return self._first, self._last

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        self._stream.close()

    def _begin(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self._stream.recv(4096)
            if not piece:
                raise SurroundingsError(f"watch of {self._path}: no proper reply")
            head += piece
        head, _, body = head.partition(b"\r\n\r\n")
        line = head.splitlines()[0].decode(errors="replace")
        if line.split()[1:2] != ["200"]:
            raise SurroundingsError(f"watch of {self._path}: {line}")
        self._stream.settimeout(_SILENCE)
        self._take(body)

    def _read(self) -> None:
        while not self._closing:
            try:
                piece = self._stream.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError as error:
                piece, self._problem = b"", str(error)
            if not piece:
                self._problem = self._problem or "the server ended it"
                self._over.set()
                return
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        counter = self._counter
        counter.feed(piece)
        if self._first is None and counter.frames:
            self._first = self._probe()
        if self._last is None and counter.added >= self._expected:
            self._last = self._probe()
            self._over.set()
