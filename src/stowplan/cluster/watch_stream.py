"""The reply to a watch, read as it arrives.

Upstream: k8s.io/apimachinery/pkg/watch/streamwatcher.go
"""

from __future__ import annotations

import asyncio
from typing import cast

from httptools import HttpParserError, HttpResponseParser

_OK = 200
_DELIMITERS = (b"content-length", b"transfer-encoding")
_MAX_BUFFERED_BYTES = 1 << 20
"""With more bytes that were not read, nothing is received until they are."""
_REQUEST = b"GET %b HTTP/1.1\r\n%bAccept: application/json\r\nAccept-Encoding: identity\r\n\r\n"
"""Compression costs the server more than it saves; kube-scheduler disables it too."""


class WatchStream(asyncio.Protocol):
    """A connection that carries one request and its reply, the bytes of which are read in pieces.

    Fails with an OSError: TimeoutError if nothing arrives for `silence` seconds, otherwise the reason why the
    connection was lost.
    """

    _transport: asyncio.Transport
    _parser: HttpResponseParser
    """Until the connection is lost: it refers to the stream, and the cycle would keep the buffers of both."""

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._loop = asyncio.get_running_loop()
        self.status = 0
        self.retry_after: str | None = None
        self._begun = self._delimited = self._complete = self._paused = False
        self._parts: list[bytes] = []
        self._buffered = 0
        self._problem: OSError | None = None
        self._heard = self._loop.time()
        self._reader: asyncio.Future[None] | None = None
        """Resolved when there is something to read, or the end."""
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, target: bytes, head: bytes) -> None:
        """Send the request, and wait for the status and the headers of the reply."""
        self._transport.write(_REQUEST % (target, head))
        self._check_silence()
        while not (self._begun or self._problem):
            await self._wait()
        if self._problem:
            raise self._problem

    async def read(self) -> bytes:
        """The bytes that have arrived since the last call, at least one; empty at the end of the reply."""
        while not self._parts:
            if self._complete:
                return b""
            if self._problem:
                raise self._problem
            await self._wait()
        parts, self._parts, self._buffered = self._parts, [], 0
        if self._paused:
            self._paused = False
            self._heard = self._loop.time()
            self._transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()
        self._stop_timer()

    async def _wait(self) -> None:
        reader = self._reader = self._loop.create_future()
        try:
            await reader
        finally:
            self._reader = None

    def _wake_reader(self) -> None:
        reader = self._reader
        if reader is not None and not reader.done():
            reader.set_result(None)

    def _check_silence(self) -> None:
        """One timer for the whole watch, since each piece would need another one."""
        left = self._heard + self._silence - self._loop.time()
        if left > 0 or self._paused:
            self._timer = self._loop.call_later(max(left, self._silence / 2), self._check_silence)
        else:
            self._fail(TimeoutError())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fail(self, problem: OSError) -> None:
        self._problem = self._problem or problem
        self.abort()
        self._wake_reader()

    # Called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(ConnectionError(f"the reply is not HTTP: {error}"))
            return
        if self._buffered > _MAX_BUFFERED_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake_reader()

    def connection_lost(self, error: Exception | None) -> None:
        self._stop_timer()
        if error is None and self._begun and not self._delimited:
            self._complete = True  # A reply without a length ends with the connection.
        elif isinstance(error, OSError):
            self._problem = self._problem or error
        else:
            self._problem = self._problem or ConnectionError("connection closed by the server")
        self._wake_reader()
        del self._parser

    # Called by the parser
    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _DELIMITERS:
            self._delimited = True
        elif name == b"retry-after":
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._begun = self.status >= _OK

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)
        self._buffered += len(part)

    def on_message_complete(self) -> None:
        self._complete = self._begun  # 100 Continue, for one, precedes the reply.
