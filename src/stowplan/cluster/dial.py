"""Opens connections, directly or through a proxy.

Upstream: k8s.io/client-go/transport, net/http/transport.go (dialConn)
"""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from stowplan.cluster.connection import Connection, LoginMethod
from stowplan.cluster.errors import ConnectionFailedError

_MAX_REPLY_BYTES = 65536
_DEFAULT_PROXY_PORT = 80

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""TCP keepalive: a watch may be silent for long, so a lost server is detected by probes, after a minute."""

P = TypeVar("P", bound=asyncio.BaseProtocol)


async def dial(connection: Connection, login: LoginMethod, make: Callable[[], P], timeout: float) -> P:
    """A new connection, with TLS if the login has a context. Raises OSError or ConnectionFailedError."""
    loop = asyncio.get_running_loop()
    name = (connection.server_name or connection.host) if login.tls is not None else None
    async with asyncio.timeout(timeout):
        if connection.proxy:
            tunnel = await _tunnel(connection.proxy, f"{_bracketed(connection.host)}:{connection.port}")
            transport, made = await loop.create_connection(make, sock=tunnel, ssl=login.tls, server_hostname=name)
        else:
            host, port = connection.host, connection.port
            transport, made = await loop.create_connection(make, host, port, ssl=login.tls, server_hostname=name)
    keep_alive(transport.get_extra_info("socket"))
    return made


def keep_alive(made: socket.socket) -> None:
    """Let the kernel probe a silent connection."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _tunnel(proxy: str, target: str) -> socket.socket:
    """A socket that the proxy has connected to the target (HTTP CONNECT)."""
    parts = urlsplit(proxy)
    loop = asyncio.get_running_loop()
    host, port = parts.hostname or "", parts.port or _DEFAULT_PROXY_PORT
    family, kind, protocol, _, address = (await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))[0]
    tunnel = socket.socket(family, kind, protocol)
    try:
        tunnel.setblocking(False)
        await loop.sock_connect(tunnel, address)
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(secret.encode()).decode()}")
        await loop.sock_sendall(tunnel, "\r\n".join([*lines, "", ""]).encode())
        await _expect_success(tunnel, f"{host}:{port}")
    except BaseException:
        tunnel.close()
        raise
    return tunnel


async def _expect_success(tunnel: socket.socket, proxy: str) -> None:
    loop = asyncio.get_running_loop()
    reply = b""
    while b"\r\n\r\n" not in reply:
        part = await loop.sock_recv(tunnel, 4096)
        reply += part
        if not part or len(reply) > _MAX_REPLY_BYTES:
            raise ConnectionFailedError(f"proxy {proxy}: no proper reply to CONNECT")
    line = reply.split(b"\r\n", 1)[0].decode("latin-1")
    if line.split(" ", 2)[1:2] != ["200"]:
        raise ConnectionFailedError(f"proxy {proxy}: {line}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
