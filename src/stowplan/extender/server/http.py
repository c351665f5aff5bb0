"""A small HTTP/1.1 server on asyncio, for large requests and persistent connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from abc import ABC, abstractmethod
from contextlib import suppress
from time import monotonic
from typing import Any

from stowplan import logs
from stowplan.errors import os_error_text
from stowplan.extender.server.body_buffer import BodyBudget
from stowplan.extender.server.connection import ServerConnection
from stowplan.extender.server.messages import HttpRequest, RequestHead, Response

log = logs.get(__name__)

KEEP_ALIVE_SECONDS = 150.0
"""Longer than the 90 s for which kube-scheduler keeps idle connections, so that the client closes first."""
_HANDSHAKE_SECONDS = 10.0
_ACCEPT_RETRY_SECONDS = 0.1
_IDLE_CHECK_SECONDS = 5.0
_QUIET_SECONDS = 0.25
"""While draining: connections without a request for so long are closed."""


class HttpServer(ABC):
    """Serves on one socket from `start` to `drain`."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        *,
        largest_body: int,
        max_total_bytes: int,
        max_connections: int,
    ) -> None:
        self.largest_body = largest_body
        self.budget = BodyBudget(max_total_bytes)
        self._max_connections = max_connections
        self.keep_alive = KEEP_ALIVE_SECONDS
        self.draining = False
        """Whether responses close their connection."""
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._tls = tls
        self._connections: set[ServerConnection] = set()
        self._quiet_since = 0.0
        self._accepting: asyncio.Task[None] | None = None
        self._idle_check: asyncio.Task[None] | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._on_accept_failed = logs.RepeatedWarning(log, "Failed to accept a connection")

    @abstractmethod
    def admit(self, head: RequestHead, certificate: Any) -> Response | None:
        """The response to a request that is refused by its head; None to read the body."""

    @abstractmethod
    async def respond(self, request: HttpRequest) -> Response:
        """The response to a complete request."""

    @abstractmethod
    def outgrown(self, head: RequestHead) -> Response:
        """The response to a chunked body that exceeds the limit."""

    @abstractmethod
    def over_budget(self, head: RequestHead, why: str) -> Response:
        """The response to a body that exceeds the budget of all connections."""

    @abstractmethod
    def too_many_connections(self) -> None:
        """A connection was closed because the maximum number of connections is open."""

    @abstractmethod
    def abandoned(self, head: RequestHead) -> None:
        """The client closed the connection while the request is being answered."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._accepting = loop.create_task(self._accept())
        self._idle_check = loop.create_task(self._close_idle())

    async def drain(self, seconds: float) -> None:
        """Accept no more connections, answer the requests on open ones, and close these when they are quiet."""
        await asyncio.sleep(0.02)  # Accept connections that wait in the backlog.
        await _cancel(self._accepting)
        self._listener.close()
        # Not earlier: clients reconnect after "Connection: close", and a closed socket loses its backlog.
        self.draining = True
        self._quiet_since = monotonic()
        until = self._quiet_since + seconds
        while self._connections and (now := monotonic()) < until:
            if any(connection.busy for connection in self._connections):
                self._quiet_since = now
            elif now - self._quiet_since >= _QUIET_SECONDS:
                break
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.close()
        await asyncio.gather(*self._handshakes)
        await asyncio.sleep(0)  # Sockets are closed before the loop.
        await _cancel(self._idle_check)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except ConnectionError:
                continue  # The client has gone.
            except OSError as problem:  # No more files may be opened.
                self._on_accept_failed(port=self.port, err=os_error_text(problem))
                self._make_room()
                await asyncio.sleep(_ACCEPT_RETRY_SECONDS)
                continue
            if len(self._connections) >= self._max_connections:
                self.too_many_connections()
                if not self._make_room():
                    accepted.close()
                    continue
            connection = ServerConnection(self, loop, accepted)
            self._connections.add(connection)
            task = loop.create_task(self._connect(connection, accepted))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _connect(self, connection: ServerConnection, accepted: socket.socket) -> None:
        """Complete the TLS handshake, if there is any. Until then the connection counts as one without a request."""
        limit = None if self._tls is None else _HANDSHAKE_SECONDS
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=limit
            )
        except OSError as problem:  # The client's handshake failed or ended.
            self.closed(connection)
            accepted.close()
            log.v(2, "TLS handshake failed", port=self.port, err=os_error_text(problem))

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(_IDLE_CHECK_SECONDS)
            now = monotonic()
            for connection in list(self._connections):
                connection.close_if_idle(now)

    def _make_room(self) -> bool:
        """Close the oldest connection on which no request has arrived yet; False if there is none."""
        silent = [connection for connection in self._connections if connection.awaits_first_request]
        if not silent:
            return False
        oldest = min(silent, key=lambda connection: connection.opened_at)
        self._connections.discard(oldest)
        oldest.abort()
        return True

    # Called by connections
    def closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
