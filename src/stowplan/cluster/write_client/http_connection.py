"""One connection to the API server.

Upstream: net/http/transport.go (persistConn)
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol, cast

from httptools import HttpParserError, HttpResponseParser

from stowplan.cluster.connection import LoginMethod
from stowplan.cluster.errors import ClusterError, ConnectionFailedError, parse_retry_after
from stowplan.cluster.tls_errors import tls_error_text
from stowplan.cluster.write_client.write_request import TimedOutError, WriteRequest

_OK = 200
_NO_BODY = b""
_DELIMITERS = (b"content-length", b"transfer-encoding")


class ConnectionOwner(Protocol):
    """The writer, as the connection calls it."""

    def on_reply(
        self, connection: HttpConnection, request: WriteRequest, status: int, body: bytes, retry_after: float | None
    ) -> None:
        """A reply is complete. The connection is ready for another request, unless it is closing."""
        ...

    def on_closed(self, connection: HttpConnection, request: WriteRequest | None, error: ClusterError) -> None:
        """The connection is gone, and with it the reply to its request, if any."""
        ...


class HttpConnection(asyncio.Protocol):
    """A kept-alive connection that carries one request at a time."""

    __slots__ = (
        "_body",
        "_complete",
        "_delimited",
        "_keep_alive",
        "_owner",
        "_parser",
        "_retry_after",
        "_status",
        "_transport",
        "deadline",
        "login",
        "request",
        "since",
        "tls",
    )

    _body: bytes
    _parser: HttpResponseParser
    """From the connect to the end: it refers to the connection, and the cycle would keep the buffers of both."""
    _retry_after: float | None
    _transport: asyncio.WriteTransport

    def __init__(self, owner: ConnectionOwner, tls: ssl.SSLContext | None) -> None:
        self._owner = owner
        self._complete = False
        self._begin()
        self.tls = tls
        """The TLS context of the connection."""
        self.request: WriteRequest | None = None
        """The request that waits for its reply."""
        self.login: LoginMethod | None = None
        """The credentials of the request."""
        self.since = 0.0
        """Time of the last request or reply."""
        self.deadline = 0.0

    # Called by the writer
    def send(self, request: WriteRequest, data: bytes, login: LoginMethod, now: float) -> None:
        self.request = request
        self.login = login
        self.since = now
        self.deadline = now + request.timeout
        self._transport.write(data)

    @property
    def closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def abort(self, error: ClusterError) -> None:
        """Close at once; the request is lost."""
        self._transport.abort()
        self._lose(error)

    def time_out(self) -> None:
        self.abort(TimedOutError(f"no reply within {self.deadline - self.since:g} s"))

    # Called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self._parser = HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self.abort(ConnectionFailedError(f"the reply is not HTTP: {error}"))
            return
        if self._complete:
            self._deliver()

    def connection_lost(self, error: Exception | None) -> None:
        if self.request is not None and self._status and not self._delimited:
            # A reply without a length ends with the connection.
            self._keep_alive = False
            self._deliver()
        text = f"connection lost: {tls_error_text(error) or error}" if error else "connection closed by the server"
        self._lose(ConnectionFailedError(text))
        del self._parser

    # Called by the parser
    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _DELIMITERS:
            self._delimited = True
        elif name == b"retry-after":
            self._retry_after = parse_retry_after(value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()

    def on_body(self, part: bytes) -> None:
        self._body = self._body + part if self._body else part

    def on_message_complete(self) -> None:
        if self._status < _OK:
            self._begin()  # Such as 100 Continue: the final reply follows.
            return
        self._complete = True
        self._keep_alive = self._parser.should_keep_alive()

    def _begin(self) -> None:
        self._body = _NO_BODY
        self._status = 0
        self._retry_after = None
        self._delimited = False
        self._keep_alive = True

    def _deliver(self) -> None:
        request, status, body, retry_after = self.request, self._status, self._body, self._retry_after
        keep_alive = self._keep_alive
        self.request = None
        self._complete = False
        self._begin()
        if not keep_alive or request is None:
            self._transport.close()
        if request is not None:
            self._owner.on_reply(self, request, status, body, retry_after)

    def _lose(self, error: ClusterError) -> None:
        request, self.request = self.request, None
        self._owner.on_closed(self, request, error)
