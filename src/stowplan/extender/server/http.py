"""A small HTTP/1.1 server on asyncio, for requests that are large and connections that stay."""

from __future__ import annotations

import asyncio
import socket
import ssl
from abc import ABC, abstractmethod
from contextlib import suppress
from time import monotonic
from typing import Any

from stowplan.extender.server.connection import ServerConnection
from stowplan.extender.server.messages import HttpRequest, RequestHead, Response

KEEP_ALIVE_SECONDS = 150.0
"""Longer than kube-scheduler keeps idle connections, which is 90 s: whoever closes one first should be the client."""
_LOOK_EVERY = 5.0
_QUIET_SECONDS = 0.25
"""When nothing has come for so long while draining, the clients have got the hint, or have nothing to ask."""


class HttpServer(ABC):
    """Serves on one socket from `start` to `drain`."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None, *, largest_body: int) -> None:
        self.largest_body = largest_body
        self.keep_alive = KEEP_ALIVE_SECONDS
        self.draining = False
        """From then on responses end their connection."""
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._connections: set[ServerConnection] = set()
        self._quiet_since = 0.0
        self._watchman: asyncio.Task[None] | None = None

    @abstractmethod
    def admit(self, head: RequestHead, certificate: Any) -> Response | None:
        """The answer to a request whose body need not be looked at, None to go on."""

    @abstractmethod
    async def respond(self, request: HttpRequest) -> Response:
        """The answer to a whole request."""

    @abstractmethod
    def outgrown(self, head: RequestHead) -> Response:
        """The answer to a request whose body, told of no length, has got too long."""

    @abstractmethod
    def abandoned(self, head: RequestHead) -> None:
        """The client has gone while the request is being answered."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ServerConnection(self, loop), sock=self._listener, ssl=self._tls, backlog=128
        )
        self._watchman = loop.create_task(self._watch())

    async def drain(self, seconds: float) -> None:
        """Take no more connections, answer what has come on those there are, and close them as they fall silent."""
        await asyncio.sleep(0.02)  # Connections that wait to be accepted are.
        if self._server is not None:
            self._server.close()
        # Not before: who is told to go connects anew, and whatever waits at a socket that is closed is lost.
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
        await asyncio.sleep(0)  # for sockets to be closed before the loop is
        if self._watchman is not None:
            self._watchman.cancel()
            with suppress(asyncio.CancelledError):
                await self._watchman

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            now = monotonic()
            for connection in list(self._connections):
                connection.look_after(now)

    # What connections call
    def opened(self, connection: ServerConnection) -> None:
        self._connections.add(connection)

    def closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
