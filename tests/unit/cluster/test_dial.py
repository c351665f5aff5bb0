from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme
from tests.unit.cluster.scripted_server import Call, ok, run, serving

from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.tls import Trust
from stowplan.cluster.write_client import Writer


class Relay(asyncio.Protocol):
    """Hands on what it receives."""

    def __init__(self, proxy: Proxy, hand_on: Callable[[bytes], None] | None = None) -> None:
        self._proxy = proxy
        self._head = b""
        self.hand_on = hand_on or self._take_head

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._proxy.transports.append(transport)

    def data_received(self, data: bytes) -> None:
        self.hand_on(data)

    def _take_head(self, data: bytes) -> None:
        self._head += data
        if self._head.endswith(b"\r\n\r\n"):
            self._proxy.heads.append(self._head)
            self._proxy.tasks.append(asyncio.create_task(self._connect()))

    async def _connect(self) -> None:
        if b" 200" in self._proxy.line:
            host, _, port = self._head.split()[1].decode().rpartition(":")
            loop = asyncio.get_running_loop()
            upstream, _ = await loop.create_connection(
                lambda: Relay(self._proxy, self.transport.write), host, int(port)
            )
            self.hand_on = upstream.write
        self.transport.write(self._proxy.line + b"\r\nVia: proxy\r\n\r\n")


class Proxy:
    """An HTTP proxy that connects all that ask, or answers with a line of its own."""

    def __init__(self, line: bytes = b"HTTP/1.1 200 Connection established") -> None:
        self.line = line
        self.heads: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.transports: list[asyncio.Transport] = []

    async def __aenter__(self) -> str:
        self._server = await asyncio.get_running_loop().create_server(lambda: Relay(self), "127.0.0.1")
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()
        for transport in self.transports:
            transport.abort()
        await asyncio.sleep(0)


def test_through_a_proxy() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trust = Trust(CredentialSource("ca", data=authority.cert_pem.bytes()))
    proxy = Proxy()

    async def steps() -> None:
        async with serving(ok, context) as server, proxy as address:
            writer = Writer(server.connection(trust=trust, proxy=f"http://me:p%40ss@{address}"), connections=1)
            calls = [Call(), Call()]
            for call in calls:
                writer.submit(call)
            assert [await call.outcome for call in calls] == [(201, b"{}")] * 2
            target = server.url.removeprefix("https://")
            secret = base64.b64encode(b"me:p@ss").decode()
            expected = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {secret}\r\n\r\n"
            assert proxy.heads == [expected.encode()]
            assert await writer.drain(1)

    run(steps())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required", "HTTP/1.1 407 Proxy Authentication Required"),
        (b"x" * 70000, "no proper reply to CONNECT"),
    ],
)
def test_a_proxy_that_refuses(line: bytes, problem: str) -> None:
    async def steps() -> None:
        async with serving(ok) as server, Proxy(line) as address:
            writer = Writer(server.connection(proxy=f"http://{address}"))
            call = Call()
            writer.submit(call)
            error, sent = await call.outcome
            assert (str(error), sent) == (f"proxy {address}: {problem}", False)
            writer.close()
            await asyncio.sleep(0)

    run(steps())


def test_a_proxy_that_is_not_there() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection(proxy="http://127.0.0.1:1"))
            call = Call()
            writer.submit(call)
            error, sent = await call.outcome
            assert (str(error), sent) == (f"{server.url}: Connection refused", False)
            writer.close()

    run(steps())


def test_a_name_that_nobody_knows() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            server.url = "https://nowhere.invalid:6443"
            writer = Writer(server.connection())
            call = Call()
            writer.submit(call)
            error, sent = await call.outcome
            assert str(error).startswith("https://nowhere.invalid:6443: ")
            assert "Unknown error" not in str(error)
            assert not sent
            writer.close()

    run(steps())
