"""A small HTTP/1.1 server on asyncio, for large requests and persistent connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from abc import ABC, abstractmethod
from time import monotonic
from typing import Any

from stowplan.extender.server.body_buffer import BodyBudget
from stowplan.extender.server.connection import ServerConnection
from stowplan.extender.server.messages import HttpRequest, RequestHead, Response
from stowplan.serving.acceptor import Acceptor
from stowplan.serving.open_connections import OpenConnections, peer_of

KEEP_ALIVE_SECONDS = 150.0
"""Longer than the 90 s for which kube-scheduler keeps idle connections, so that the client closes first."""
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
        self.keep_alive = KEEP_ALIVE_SECONDS
        self.draining = False
        """Whether responses close their connection."""
        self.port: int = listener.getsockname()[1]
        self._connections: OpenConnections[ServerConnection] = OpenConnections(max_connections)
        self._quiet_since = 0.0
        self._acceptor = Acceptor(
            listener,
            tls,
            open_connection=self._open_connection,
            discard=self.closed,
            make_room=self._connections.free_files,
        )
        self._idle_check: asyncio.Task[None] | None = None

    @abstractmethod
    def admit(self, head: RequestHead, certificate: Any, *, on_loopback: bool) -> Response | None:
        """The response to a request that is refused by its head; None to read the body.

        `on_loopback`: the connection arrived at a loopback address."""

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
        self._acceptor.start()
        self._idle_check = asyncio.get_running_loop().create_task(self._close_idle())

    async def drain(self, seconds: float) -> None:
        """Accept no more connections, answer the requests on open ones, and close these when they are quiet."""
        await asyncio.sleep(0.02)  # Accept connections that wait in the backlog.
        await self._acceptor.stop()
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
        for connection in self._connections:
            connection.close()
        await self._acceptor.finish_handshakes()
        await asyncio.sleep(0)  # Sockets are closed before the loop.
        if self._idle_check is not None:
            self._idle_check.cancel()
            await asyncio.gather(self._idle_check, return_exceptions=True)

    def _open_connection(self, accepted: socket.socket) -> ServerConnection | None:
        if self._connections.full:
            self.too_many_connections()
            if not self._connections.make_room_for(peer_of(accepted)):
                return None
        connection = ServerConnection(self, asyncio.get_running_loop(), accepted)
        self._connections.add(connection)
        return connection

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(_IDLE_CHECK_SECONDS)
            now = monotonic()
            for connection in self._connections:
                connection.close_if_idle(now)

    # Called by connections
    def closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
