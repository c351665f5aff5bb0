"""HTTP requests to an extender, with Go's error messages.

Upstream: pkg/scheduler/extender.go (send), net/http/client.go
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from io import BytesIO
from typing import NamedTuple, Protocol
from urllib.parse import urljoin, urlsplit

import aiohttp

from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.tls_errors import tls_error_text
from stowplan.errors import StowplanError
from stowplan.extender.client.proxies import proxy_for
from stowplan.extender.client.tls import Tls

KEEP_ALIVE_SECONDS = 15.0
"""How long an idle connection is reused: less than servers usually allow, so that none is closed under a request, which
is not repeated."""

_IDLE_CHECK_TURNS = 2
"""Turns of the event loop in which it notices that servers have closed idle connections, after scheduling cycles have
held it up."""

_MAX_WHOLE_BODY_BYTES = 1 << 20
"""A longer body is sent in pieces."""

MAX_REPLY_BYTES = 256 << 20
"""Maximum size of a reply: all nodes of the largest clusters fit, and larger replies would exhaust memory."""

_REDIRECTS_WITH_BODY = (307, 308)
_REDIRECTS = (301, 302, 303, *_REDIRECTS_WITH_BODY)
"""After the others, Go's client sends GET without a body."""
_MAX_REQUESTS = 10
_DEFAULT_PORTS = {"http": 80, "https": 443}

_RECEIVED = re.compile(r"\bb(['\"])(.*)\1")
"""The line of a reply that aiohttp cannot read, in its message."""

_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "stowplan"}


class ExtenderUnreachableError(StowplanError):
    """There was no reply."""


class HttpReply(NamedTuple):
    status: int
    body: bytes


class Transport(Protocol):
    async def post(self, url: str, body: bytes, timeout: float | None) -> HttpReply:
        """Raises ExtenderUnreachableError."""

    async def close(self) -> None: ...


class HttpTransport:
    """Connections to one extender; made and closed on the event loop.

    A request is written once. Go's client writes a POST again only if it has written no byte of it to a connection that
    had been idle and that the server has closed; such connections are left out here before the request is written.
    """

    def __init__(self, tls: Tls | None, env: Mapping[str, str] | None = None) -> None:
        self._tls = tls
        self._env = os.environ if env is None else env
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, timeout: float | None) -> HttpReply:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS)
            limits = aiohttp.ClientTimeout(total=None, sock_connect=None)
            self._session = aiohttp.ClientSession(connector=connector, timeout=limits, headers=_HEADERS)
        for _ in range(_IDLE_CHECK_TURNS):
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(timeout):
                return await self._post(self._session, url, body)
        except (aiohttp.ClientError, OSError, ValueError, CredentialsError) as problem:
            raise ExtenderUnreachableError(f"Post {json.dumps(url)}: {self._in_words(problem)}") from problem

    def _in_words(self, problem: Exception) -> str:
        alert = None if self._tls is None else self._tls.take_alert()
        is_closed = isinstance(problem.__cause__, ConnectionError) or isinstance(problem, ConnectionError)
        return tls_error_text(alert) if alert is not None and is_closed else _in_words(problem)

    async def _post(self, session: aiohttp.ClientSession, url: str, body: bytes) -> HttpReply:
        """Follows redirects as Go's client does, but only to the extender's own scheme, host and port: pods and nodes
        are not sent to a server that the configuration does not name."""
        method, target, sent = "POST", url, body
        for _ in range(_MAX_REQUESTS):
            async with self._request(session, method, target, sent) as reply:
                location = reply.headers.get("Location", "")
                if reply.status not in _REDIRECTS or not location:
                    return HttpReply(reply.status, await _whole(reply))
            target = urljoin(target, location)
            if _origin(target) != _origin(url):
                raise ValueError(f"redirected to {json.dumps(target)}, which is not the extender's own address")
            if reply.status not in _REDIRECTS_WITH_BODY:
                method, sent = "GET", b""
        raise ValueError(f"stopped after {_MAX_REQUESTS} redirects")

    def _request(
        self, session: aiohttp.ClientSession, method: str, url: str, body: bytes
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        tls = self._tls if url.startswith("https:") else None
        return session.request(
            method,
            url,
            data=BytesIO(body) if len(body) > _MAX_WHOLE_BODY_BYTES else body or None,
            ssl=True if tls is None else tls.context(),
            server_hostname=None if tls is None else tls.server_name,
            proxy=proxy_for(url, self._env),
            allow_redirects=False,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


async def _whole(reply: aiohttp.ClientResponse) -> bytes:
    """The decompressed body. A body beyond the limit is abandoned, and its connection closed."""
    pieces, size = [], 0
    async for piece in reply.content.iter_any():
        size += len(piece)
        if size > MAX_REPLY_BYTES:
            reply.close()
            raise ValueError(f"the reply is larger than {MAX_REPLY_BYTES:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _in_words(problem: BaseException) -> str:
    if isinstance(problem, TimeoutError):
        return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    if text := tls_error_text(problem):
        return text
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(problem, aiohttp.ClientConnectorError):
        if isinstance(problem.os_error, socket.gaierror):
            return f"dial tcp: lookup {problem.host}: no such host"
        if isinstance(problem.os_error, ConnectionResetError) and not problem.os_error.errno:
            return "EOF"  # During the TLS handshake.
        return f"dial tcp {_address(problem.host, problem.port)}: connect: {_os_words(problem.os_error)}"
    if isinstance(problem, aiohttp.ClientResponseError):
        received = _RECEIVED.search(problem.message)
        line = f' "{received[2]}"' if received else ""
        return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response{line}"
    if isinstance(problem, OSError):
        return _os_words(problem)
    return str(problem) or type(problem).__name__


def _address(host: str, port: int | None) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _os_words(problem: OSError) -> str:
    words = os.strerror(problem.errno) if problem.errno else problem.strerror or str(problem)
    return words[:1].lower() + words[1:]
