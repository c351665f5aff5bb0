"""Connections of a server of pages: accepted up to a maximum number, each with time limits.

At the maximum, another connection is closed for a new one (`open_connections`). So a client that needs an answer now,
such as a kubelet's probe, gets one whatever number of connections others hold open.

Upstream: k8s.io/apiserver/pkg/server/secure_serving.go (ReadHeaderTimeout, IdleTimeout)
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, NamedTuple

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from stowplan import logs
from stowplan.serving.acceptor import HANDSHAKE_SECONDS, Acceptor
from stowplan.serving.open_connections import ConnectionStanding, OpenConnections, peer_of
from stowplan.serving.open_files import open_files_limit

log = logs.get(__name__)

MAX_CONNECTIONS = 1000
_OPEN_FILES_SHARE = 4
"""One server uses at most this fraction of the open files; the API server's connections need some too."""
_FIRST_ERROR_STATUS = 400
_SETTINGS: dict[str, Any] = {"access_log": None, "lingering_time": 1.0}


class ConnectionLimits(NamedTuple):
    """Maximum number of connections, and time limits in seconds."""

    max_connections: int
    handshake: float = HANDSHAKE_SECONDS
    """For the TLS handshake."""
    first_request: float = 32.0
    """From the connect to the end of the first request's header."""
    idle: float = 90.0
    """From a response to the end of the next request's header."""
    stalled: float = 30.0
    """For a client that does not read its response, or does not end a connection that the server closes."""
    check: float = 1.0
    """Between two checks of the time limits."""


def default_limits() -> ConnectionLimits:
    """Limits that leave open files for everything else in the process."""
    return ConnectionLimits(max(1, min(MAX_CONNECTIONS, open_files_limit() // _OPEN_FILES_SHARE)))


class PageConnection(web.RequestHandler):
    """One connection, from the accept to the close of its socket."""

    def __init__(self, server: web.Server, accepted: socket.socket, connections: Connections) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, keepalive_timeout=connections.limits.idle, **_SETTINGS)
        self._socket = accepted
        self._connections = connections
        self._link: asyncio.Transport | None = None
        self.peer = peer_of(accepted)
        self._since = self._opened_at = loop.time()
        """Since when the server waits for a request, or answers one."""
        self._answering = False
        self._has_served = False
        self._has_access = False
        """Whether a response was not a refusal."""
        self._stalled_since: float | None = None

    @property
    def in_handshake(self) -> bool:
        return self._link is None

    @property
    def standing(self) -> ConnectionStanding:
        if self._answering:
            return ConnectionStanding.ANSWERING
        return ConnectionStanding.IDLE if self._has_access else ConnectionStanding.UNPROVEN

    @property
    def waiting_since(self) -> float:
        return self._since if self._has_access else self._opened_at

    def begin_request(self) -> None:
        self._answering, self._since = True, asyncio.get_running_loop().time()

    def abort(self) -> None:
        """Close the socket without waiting for the client."""
        if self._link is not None:
            self._link.abort()
        else:  # In the TLS handshake, which fails by this.
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def is_overdue(self, now: float) -> bool:
        """Whether a time limit is exceeded."""
        limits, link = self._connections.limits, self._link
        if link is not None and link.is_closing() and self._stalled_since is None:
            self._stalled_since = now
        if self._stalled_since is not None:
            return now - self._stalled_since > limits.stalled
        if self._answering:
            return False
        return now - self._since > (limits.idle if self._has_served else limits.first_request)

    # Called by the event loop and by aiohttp
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._link = transport
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.discard(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._stalled_since = asyncio.get_running_loop().time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        finished = await super().finish_response(request, resp, start_time)
        self._answering, self._has_served, self._since = False, True, asyncio.get_running_loop().time()
        self._has_access = self._has_access or resp.status < _FIRST_ERROR_STATUS
        return finished

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Requests that break HTTP are the client's fault; for any other exception the stack trace is logged."""
        problem = kw.get("exc_info")
        values = {"err": str(problem).partition("\n")[0]}
        if isinstance(problem, Exception) and not isinstance(problem, HttpProcessingError):
            values["stacktrace"] = logs.stack_trace(problem)
        self._connections.on_failed_request(**values)


class Connections:
    """Accepts connections on a listening socket and hands them to aiohttp's server."""

    def __init__(
        self, listener: socket.socket, server: web.Server, tls: ssl.SSLContext | None, limits: ConnectionLimits
    ) -> None:
        self.limits = limits
        self._address = "{}:{}".format(*listener.getsockname()[:2])
        self._server = server
        self._open: OpenConnections[PageConnection] = OpenConnections(limits.max_connections)
        self._acceptor = Acceptor(
            listener,
            tls,
            open_connection=self._open_connection,
            discard=self.discard,
            make_room=self._open.free_files,
            handshake_seconds=limits.handshake,
            shutdown_seconds=limits.stalled,
        )
        self._checking: asyncio.Task[None] | None = None
        self.on_failed_request = logs.RepeatedWarning(log, "Failed to answer a request")
        self._on_full = logs.RepeatedWarning(log, "Too many connections are open, closed one for another")
        self._on_refused = logs.RepeatedWarning(log, "Too many connections are open, refused another")

    def start(self) -> None:
        self._acceptor.start()
        self._checking = asyncio.get_running_loop().create_task(self._check())

    async def stop(self) -> None:
        """Accept no more connections, and end those in the TLS handshake."""
        await self._acceptor.stop()
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        for connection in self._open:
            if connection.in_handshake:
                connection.abort()
        await self._acceptor.finish_handshakes()

    def discard(self, connection: PageConnection) -> None:
        self._open.discard(connection)

    def _open_connection(self, accepted: socket.socket) -> PageConnection | None:
        if self._open.full:
            has_room = self._open.make_room_for(peer_of(accepted))
            report = self._on_full if has_room else self._on_refused
            report(address=self._address, connections=self.limits.max_connections)
            if not has_room:
                return None
        connection = PageConnection(self._server, accepted, self)
        self._open.add(connection)
        return connection

    async def _check(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.limits.check)
            now = loop.time()
            for connection in self._open:
                if connection.is_overdue(now):
                    connection.abort()
