"""Counts bound pods by a watch, with little CPU time."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic, sleep
from typing import Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

from stowplan.testing import NotInTimeError, SurroundingsError

T = TypeVar("T")

_ADDED = b'{"type":"ADDED"'
_REQUEST = (
    "GET {path}?watch=true&resourceVersion={version}&fieldSelector=spec.nodeName%21%3D HTTP/1.0\r\n"
    "Host: {host}\r\n"
    "Authorization: Bearer {token}\r\n"
    "Accept: {accept}\r\n\r\n"
)
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_READ_TIMEOUT_SECONDS = 0.2
_CONNECT_TIMEOUT_SECONDS = 30.0


class FrameCounter:
    """Counts the frames of a watch in a stream of bytes."""

    def __init__(self) -> None:
        self.frames = 0
        self.added = 0
        self._last = b""
        self._rest = b""
        self._version = ""

    def feed(self, piece: bytes) -> None:
        *whole, self._rest = (self._rest + piece).split(b"\n")
        self.frames += len(whole)
        self.added += sum(frame.startswith(_ADDED) for frame in whole)
        self._last = whole[-1] if whole else self._last
        self.take(whole)

    def take(self, frames: list[bytes]) -> None:
        """Receive whole frames; for subclasses."""

    def cut(self) -> str:
        """The stream has ended, perhaps within a frame: the resourceVersion to resume from, or ""."""
        found, self._last, self._rest = _VERSION.search(self._last), b"", b""
        if found:
            self._version = found[1].decode()
        return self._version


class BoundPodWatch(Generic[T]):
    """Watches assigned pods, by default their metadata, from a resourceVersion on, on a thread.

    A watch that the server ends, since it is too slow, is resumed. The result of `probe` is kept at two moments: at the
    first frame, and when the last of `expected` pods was bound.
    """

    def __init__(
        self,
        path: str,
        version: str,
        expected: int,
        probe: Callable[[], T],
        counter: FrameCounter | None = None,
        accept: str = _METADATA,
    ) -> None:
        self._path = path
        self._version = version
        self._accept = accept
        self._expected = expected
        self._probe = probe
        self._counter = counter or FrameCounter()
        self._over = threading.Event()
        self._closing = False
        self._problem = ""
        self._first: T | None = None
        self._last: T | None = None

    @property
    def bound(self) -> int:
        return self._counter.added

    @property
    def problem(self) -> str:
        """Why the watch failed; empty while it runs."""
        return self._problem

    def open(self, url: str, tls: ssl.SSLContext, token: str) -> None:
        """Start the watch."""
        self._connect = partial(self._connect_to, urlsplit(url), tls, token)
        self._stream = self._connect(self._version)
        self._thread = threading.Thread(target=self._read, name="bound-pod-watch", daemon=True)
        self._thread.start()

    def wait_first(self, timeout: float) -> None:
        """Wait until a pod is bound or the watch has failed, at most this long."""
        deadline = monotonic() + timeout
        while not self.bound and not self._over.is_set() and monotonic() < deadline:
            sleep(_READ_TIMEOUT_SECONDS)

    def wait(self, timeout: float, alive: Callable[[], bool]) -> tuple[T, T]:
        """Wait until all expected pods are bound; returns the two results of `probe`. Raises NotInTimeError."""
        deadline = monotonic() + timeout
        while not self._over.wait(0.5):
            if not alive():
                raise SurroundingsError(f"the scheduler ended after {self.bound:,} of {self._expected:,} pods")
            if monotonic() > deadline:
                raise NotInTimeError(f"{self.bound:,} of {self._expected:,} pods were bound in {timeout:g} s")
        if self._first is None or self._last is None:
            raise SurroundingsError(f"watch of {self._path}: {self._problem}")
        return self._first, self._last

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        self._stream.close()

    def _connect_to(self, parts: SplitResult, tls: ssl.SSLContext, token: str, version: str) -> ssl.SSLSocket:
        host, port = parts.hostname or "", parts.port or 443
        stream = tls.wrap_socket(socket.create_connection((host, port), _CONNECT_TIMEOUT_SECONDS), server_hostname=host)
        request = _REQUEST.format(
            path=self._path, version=version, host=f"{host}:{port}", token=token, accept=self._accept
        )
        try:
            stream.sendall(request.encode())
            self._begin(stream)
        except BaseException:
            stream.close()
            raise
        return stream

    def _begin(self, stream: ssl.SSLSocket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = stream.recv(4096)
            if not piece:
                raise SurroundingsError(f"watch of {self._path}: no proper reply")
            head += piece
        head, _, body = head.partition(b"\r\n\r\n")
        line = head.splitlines()[0].decode(errors="replace")
        if line.split()[1:2] != ["200"]:
            raise SurroundingsError(f"watch of {self._path}: {line}")
        stream.settimeout(_READ_TIMEOUT_SECONDS)
        self._take(body)

    def _read(self) -> None:
        try:
            while not self._closing:
                self._read_some()
        except (OSError, SurroundingsError) as error:
            self._problem = str(error)
            self._over.set()

    def _read_some(self) -> None:
        try:
            piece = self._stream.recv(1 << 16)
        except TimeoutError:
            return
        if piece:
            self._take(piece)
            return
        version = self._counter.cut()
        if not version:
            raise SurroundingsError("the server ended it")
        self._stream.close()
        self._stream = self._connect(version)

    def _take(self, piece: bytes) -> None:
        counter = self._counter
        counter.feed(piece)
        if self._first is None and counter.frames:
            self._first = self._probe()
        if self._last is None and counter.added >= self._expected:
            self._last = self._probe()
            self._over.set()
