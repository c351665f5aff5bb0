"""Requests to the API server: lists, watches and the rare calls. What is written in bulk goes through `lean`."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple

import aiohttp

from stowplan.cluster.connection import Connection, LoginMethod
from stowplan.cluster.errors import ApiError, ConnectionFailedError, UntrustedServerError, parse_retry_after
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.errors import os_error_text

_RETRIES = 10
"""How often a request is sent again because the server asks to come back later."""
_LONGEST_WAIT_SECONDS = 60.0
_CONNECT_SECONDS = 30.0
_READ_BUFFER = 1 << 20
_LOST = (aiohttp.ClientError, OSError)

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A watch may be silent for long, so a server that vanished shows only in probes: after a minute of these."""


class _Request(NamedTuple):
    method: str
    path: str
    params: Mapping[str, str]
    body: bytes | None
    content_type: str
    silence: float
    """The longest time without a byte from the server."""


class Client:
    """Speaks to one API server on the event loop that it was made on."""

    def __init__(
        self,
        connection: Connection,
        *,
        limiter: TokenBucket | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        observe: Callable[[str, str, float, int, int], object] | None = None,
    ) -> None:
        """`observe` is told of every request: method, status, seconds, bytes sent, bytes received."""
        self._observe = observe
        self.connection = connection
        self._limiter = limiter
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)  # for sockets to be closed before the loop is

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.request("GET", path, params=params)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> bytes:
        """The body of the reply. A request that is to come back later does, one refused for its login logs in anew.

        `timeout` bounds the silence in each try. Raises ApiError, ConnectionFailed and CredentialsError.
        """
        for attempt in range(_RETRIES + 1):
            if self._limiter is not None and (wait := self._limiter.take()) > 0:
                await self._sleep(wait)
            began = monotonic()
            reply = await self._open(_Request(method, path, params or {}, body, content_type, timeout))
            content = await self._read(reply)
            if self._observe is not None:
                self._observe(method, str(reply.status), monotonic() - began, len(body or b""), len(content))
            if reply.status < 300:
                return content
            later = _asked_to_wait(reply)
            if later is None or attempt == _RETRIES:
                raise ApiError.from_reply(reply.status, content, reply.headers.get("Retry-After"))
            await self._sleep(min(later, _LONGEST_WAIT_SECONDS))
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def open_watch(
        self, path: str, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and read it piece by piece, each piece all that has arrived. No rate limit, as in client-go.

        The pieces end when the server ends the watch; ConnectionFailed is raised if it breaks off, or if nothing comes
        for `silence` seconds.
        """
        reply = await self._open(_Request("GET", path, params, None, "", silence))
        if reply.status >= 300:
            raise ApiError.from_reply(reply.status, await self._read(reply), reply.headers.get("Retry-After"))
        try:
            yield self._pieces(reply)
        finally:
            _drop(reply)

    async def _pieces(self, reply: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        while True:
            try:
                piece = await reply.content.readany()
            except _LOST as error:
                raise self._failed(error) from error
            if not piece:
                return
            yield piece

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """All of a reply. The connection is kept for the next request if nothing went wrong."""
        try:
            return await reply.read()
        except _LOST as error:
            raise self._failed(error) from error
        finally:
            _drop(reply)

    async def _open(self, request: _Request) -> aiohttp.ClientResponse:
        """Send a request; if the login is refused, once more with a new one."""
        login = await self.connection.login()
        reply = await self._send(request, login)
        if reply.status == 401 and self.connection.invalidate(login):
            _drop(reply)
            reply = await self._send(request, await self.connection.login())
        return reply

    async def _send(self, request: _Request, login: LoginMethod) -> aiohttp.ClientResponse:
        session = self._session
        if session is None:
            session = self._session = self._make_session()
        content_type = {"Content-Type": request.content_type} if request.body is not None else {}
        try:
            return await session.request(
                request.method,
                f"{self.connection.url}{request.path}",
                params=request.params,
                headers={**login.headers, **content_type},
                data=request.body,
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=min(_CONNECT_SECONDS, request.silence), sock_read=request.silence
                ),
                ssl=login.tls if login.tls is not None else True,
                server_hostname=self.connection.server_name,
                proxy=self.connection.proxy,
                allow_redirects=False,
            )
        except _LOST as error:
            raise self._failed(error) from error

    def _make_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60.0, socket_factory=_make_socket),
            headers={
                "User-Agent": self.connection.user_agent,
                "Accept": "application/json",
                # Compressing costs the server more than the wire does, and kube-scheduler asks for none either.
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER,
            auto_decompress=False,
        )

    def _failed(self, error: Exception) -> ConnectionFailedError:
        server = self.connection.url
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            error = error.certificate_error
        if isinstance(error, ssl.SSLCertVerificationError):
            return UntrustedServerError(f"{server}: the server's certificate is not trusted: {error.verify_message}")
        if isinstance(error, TimeoutError):
            return ConnectionFailedError(f"{server}: no answer in time")
        if isinstance(error, aiohttp.ClientConnectorError):
            return ConnectionFailedError(f"{server}: {os_error_text(error.os_error)}")
        if isinstance(error, aiohttp.ClientHttpProxyError):  # whose own text has the proxy's URL, with the password
            return ConnectionFailedError(f"{server}: the proxy refuses: {error.status} {error.message}")
        return ConnectionFailedError(f"{server}: {' '.join(str(error).split()) or type(error).__name__}")


def _drop(reply: aiohttp.ClientResponse) -> None:
    """Be done with a reply. If it was not read to its end, neither is its connection of use, nor a proper goodbye."""
    connection = reply.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    reply.close()


def _asked_to_wait(reply: aiohttp.ClientResponse) -> float | None:
    """How long the server wants us to wait before the same request may succeed; None if it does not say so."""
    if reply.status != 429 and reply.status < 500:
        return None
    return parse_retry_after(reply.headers.get("Retry-After"))


def _make_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
