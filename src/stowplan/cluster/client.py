"""HTTP client for lists, watches and rare requests. Frequent writes use `write_client`.

Lists and other requests are made by aiohttp. Watches are read by `watch_stream`, with a third of the CPU time.

Upstream: k8s.io/client-go/rest/request.go
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlencode

import aiohttp

from stowplan.cluster.connection import Connection, LoginMethod
from stowplan.cluster.dial import dial, keep_alive
from stowplan.cluster.errors import ApiError, ConnectionFailedError, UntrustedServerError, parse_retry_after
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.tls_errors import tls_error_text
from stowplan.cluster.watch_stream import WatchStream
from stowplan.errors import os_error_text

_MAX_RETRIES = 10
"""Retries of a request that the server answers with Retry-After."""
_MAX_RETRY_AFTER_SECONDS = 60.0
_CONNECT_TIMEOUT_SECONDS = 30.0
_READ_BUFFER_BYTES = 1 << 20
_LOST = (aiohttp.ClientError, OSError)


class _Request(NamedTuple):
    method: str
    path: str
    params: Mapping[str, str]
    body: bytes | None
    content_type: str
    silence: float
    """Seconds without a byte from the server before the request fails."""


class Client:
    """Client of one API server, bound to the event loop on which it was made."""

    def __init__(
        self,
        connection: Connection,
        *,
        limiter: TokenBucket | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        observe: Callable[[str, str, float, int, int], object] | None = None,
    ) -> None:
        """`observe` is called for every request: method, status, seconds, bytes sent, bytes received."""
        self._observe = observe
        self.connection = connection
        self._limiter = limiter
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)  # Sockets close before the loop does.

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
        """The body of the reply. Retries if the server answers with Retry-After, and once with new credentials on 401.

        `timeout` limits the time without a byte in each attempt. Raises ApiError, ConnectionFailedError and
        CredentialsError.
        """
        for attempt in range(_MAX_RETRIES + 1):
            if self._limiter is not None and (wait := self._limiter.take()) > 0:
                await self._sleep(wait)
            began = monotonic()
            reply = await self._open(_Request(method, path, params or {}, body, content_type, timeout))
            content = await self._read(reply)
            if self._observe is not None:
                self._observe(method, str(reply.status), monotonic() - began, len(body or b""), len(content))
            if reply.status < 300:
                return content
            later = _retry_after(reply)
            if later is None or attempt == _MAX_RETRIES:
                raise ApiError.from_reply(reply.status, content, reply.headers.get("Retry-After"))
            await self._sleep(min(later, _MAX_RETRY_AFTER_SECONDS))
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def open_watch(
        self, path: str, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and yield its bytes as they arrive. Not rate-limited, as in client-go.

        The iterator ends when the server ends the watch. Raises ConnectionFailedError if the connection breaks, or if
        nothing arrives for `silence` seconds.
        """
        target = f"{self.connection.prefix}{path}?{urlencode(params)}"
        login = await self.connection.login()
        stream = await self._stream(target, login, silence)
        if stream.status == 401 and self.connection.invalidate(login):
            stream.abort()
            stream = await self._stream(target, await self.connection.login(), silence)
        try:
            if stream.status >= 300:
                content = b"".join([piece async for piece in self._pieces(stream)])
                raise ApiError.from_reply(stream.status, content, stream.retry_after)
            yield self._pieces(stream)
        finally:
            stream.abort()

    async def _stream(self, target: str, login: LoginMethod, silence: float) -> WatchStream:
        """Send the request of a watch; returns when its status has arrived."""
        timeout = min(_CONNECT_TIMEOUT_SECONDS, silence)
        try:
            stream = await dial(self.connection, login, lambda: WatchStream(silence), timeout)
            try:
                await stream.begin(target.encode("ascii"), self.connection.head(login))
            except BaseException:
                stream.abort()
                raise
        except OSError as error:
            raise self._failed(error) from error
        return stream

    async def _pieces(self, stream: WatchStream) -> AsyncIterator[bytes]:
        try:
            while piece := await stream.read():
                yield piece
        except OSError as error:
            raise self._failed(error) from error

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """The whole body. After success the connection is reused."""
        try:
            return await reply.read()
        except _LOST as error:
            raise self._failed(error) from error
        finally:
            _drop(reply)

    async def _open(self, request: _Request) -> aiohttp.ClientResponse:
        """Send a request; on 401 once more with new credentials."""
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
                    total=None, connect=min(_CONNECT_TIMEOUT_SECONDS, request.silence), sock_read=request.silence
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
                # Compression costs the server more than it saves; kube-scheduler disables it too.
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER_BYTES,
            auto_decompress=False,
        )

    def _failed(self, error: Exception) -> ConnectionFailedError:
        server = self.connection.url
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            error = error.certificate_error
        if isinstance(error, ssl.SSLCertVerificationError):
            return UntrustedServerError(f"{server}: the server's certificate is not trusted: {error.verify_message}")
        if isinstance(error, TimeoutError):
            return ConnectionFailedError(f"{server}: no reply in time")
        if text := tls_error_text(error):
            return ConnectionFailedError(f"{server}: {text}")
        if isinstance(error, aiohttp.ClientConnectorError):
            error = error.os_error
        if isinstance(error, OSError) and (text := os_error_text(error)):
            return ConnectionFailedError(f"{server}: {text}")
        if isinstance(error, aiohttp.ClientHttpProxyError):  # Its text contains the proxy's URL and password.
            return ConnectionFailedError(f"{server}: the proxy refuses: {error.status} {error.message}")
        return ConnectionFailedError(f"{server}: {' '.join(str(error).split()) or type(error).__name__}")


def _drop(reply: aiohttp.ClientResponse) -> None:
    """Release a reply. The connection of an unfinished one is aborted."""
    connection = reply.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    reply.close()


def _retry_after(reply: aiohttp.ClientResponse) -> float | None:
    """Seconds of Retry-After for a status that permits a retry; None otherwise."""
    if reply.status != 429 and reply.status < 500:
        return None
    return parse_retry_after(reply.headers.get("Retry-After"))


def _make_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    keep_alive(made)
    return made
