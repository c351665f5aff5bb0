"""One connection to the API server."""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol, cast

from httptools import HttpParserError, HttpResponseParser

from stowplan.cluster.connection import LoginMethod
from stowplan.cluster.errors import ClusterError, ConnectionFailedError, parse_retry_after
from stowplan.cluster.write_client.write_request import TimedOutError, WriteRequest

_OK = 200
_NO_BODY = b""
_DELIMITERS = (b"content-length", b"transfer-encoding")


class ConnectionOwner(Protocol):
    """Who holds the connection."""

    def replied(
        self, channel: HttpConnection, exchange: WriteRequest, status: int, body: bytes, retry_after: float | None
    ) -> None:
        """A reply is complete. The channel is ready for another request, unless it closes."""
        ...

    def closed(self, channel: HttpConnection, exchange: WriteRequest | None, error: ClusterError) -> None:
        """The connection is gone, and with it the reply to this exchange, if any was under way."""
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
        "exchange",
        "login",
        "since",
        "tls",
    )

    _body: bytes
    _retry_after: float | None
    _transport: asyncio.WriteTransport

    def __init__(self, owner: ConnectionOwner, tls: ssl.SSLContext | None) -> None:
        self._owner = owner
        self._parser = HttpResponseParser(self)
        self._complete = False
        self._begin()
        self.tls = tls
        """The context that the connection was opened with."""
        self.exchange: WriteRequest | None = None
        """The one under way."""
        self.login: LoginMethod | None = None
        """Who it was sent as."""
        self.since = 0.0
        """When it was sent, or when the last one ended."""
        self.deadline = 0.0

    # What the pool does
    def send(self, exchange: WriteRequest, data: bytes, login: LoginMethod, now: float) -> None:
        self.exchange = exchange
        self.login = login
        self.since = now
        self.deadline = now + exchange.timeout
        self._transport.write(data)

    @property
    def closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def abort(self, error: ClusterError) -> None:
        """Give up on the connection and what is under way on it."""
        self._transport.abort()
        self._lose(error)

    def time_out(self) -> None:
        self.abort(TimedOutError(f"no reply within {self.deadline - self.since:g} s"))

    # What the event loop calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self.abort(ConnectionFailedError(f"the reply is not HTTP: {error}"))
            return
        if self._complete:
            self._deliver()

    def connection_lost(self, error: Exception | None) -> None:
        if self.exchange is not None and self._status and not self._delimited:
            # A reply without a length ends with the connection.
            self._keep_alive = False
            self._deliver()
        self._lose(ConnectionFailedError(f"connection lost: {error}" if error else "connection closed by the server"))

    # What the parser calls
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
            self._begin()  # Such as 100 Continue: the real one follows.
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
        exchange, status, body, retry_after = self.exchange, self._status, self._body, self._retry_after
        keep_alive = self._keep_alive
        self.exchange = None
        self._complete = False
        self._begin()
        if not keep_alive or exchange is None:
            self._transport.close()
        if exchange is not None:
            self._owner.replied(self, exchange, status, body, retry_after)

    def _lose(self, error: ClusterError) -> None:
        exchange, self.exchange = self.exchange, None
        self._owner.closed(self, exchange, error)
