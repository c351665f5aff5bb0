"""Accepts connections on a listening socket, and completes their TLS handshakes beside one another."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Generic, TypeVar

from stowplan import logs
from stowplan.errors import os_error_text

log = logs.get(__name__)

HANDSHAKE_SECONDS = 10.0
_ACCEPT_RETRY_SECONDS = 0.1

ConnectionT = TypeVar("ConnectionT", bound=asyncio.BaseProtocol)


class Acceptor(Generic[ConnectionT]):
    """Hands each accepted socket to its owner, from `start` to `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        *,
        open_connection: Callable[[socket.socket], ConnectionT | None],
        discard: Callable[[ConnectionT], None],
        make_room: Callable[[], object],
        handshake_seconds: float = HANDSHAKE_SECONDS,
        shutdown_seconds: float | None = None,
    ) -> None:
        """`open_connection` returns None to refuse a connection. `discard` is called for a connection whose handshake
        failed, `make_room` if the process may not open another file. `shutdown_seconds` limits the end of TLS."""
        self._listener = listener
        self._tls = tls
        self._open_connection = open_connection
        self._discard = discard
        self._make_room = make_room
        self._limits = (None, None) if tls is None else (handshake_seconds, shutdown_seconds)
        self._address = "{}:{}".format(*listener.getsockname()[:2])
        self._task: asyncio.Task[None] | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._on_accept_failed = logs.RepeatedWarning(log, "Failed to accept a connection")

    def start(self) -> None:
        self._listener.setblocking(False)
        self._task = asyncio.get_running_loop().create_task(self._accept())

    async def stop(self) -> None:
        """Accept no more connections."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._listener.close()

    async def finish_handshakes(self) -> None:
        await asyncio.gather(*self._handshakes)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except ConnectionError:
                continue  # The client has gone.
            except OSError as problem:  # No more files may be opened.
                self._on_accept_failed(address=self._address, err=os_error_text(problem))
                self._make_room()
                await asyncio.sleep(_ACCEPT_RETRY_SECONDS)
                continue
            connection = self._open_connection(accepted)
            if connection is None:
                accepted.close()
                continue
            task = loop.create_task(self._connect(connection, accepted))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)
            await asyncio.sleep(0)  # Requests on open connections come before the next of many waiting clients.

    async def _connect(self, connection: ConnectionT, accepted: socket.socket) -> None:
        """Complete the TLS handshake, if there is any. Until then the connection counts as one without a request."""
        handshake, shutdown = self._limits
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=handshake,
                ssl_shutdown_timeout=shutdown,
            )
        except OSError as problem:  # The client's handshake failed or ended.
            self._discard(connection)
            accepted.close()
            log.v(2, "TLS handshake failed", address=self._address, err=os_error_text(problem))
