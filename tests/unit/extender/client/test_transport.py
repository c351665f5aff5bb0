"""What is said where there is no reply: kube-scheduler's words, since people look for those."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing

import pytest
from aiohttp import web
from tests.unit.extender.client.fake_server import FakeServer

from stowplan.extender.client.transport import ExtenderUnreachableError, HttpReply, HttpTransport


def post(url: str, env: dict[str, str] | None = None) -> HttpReply:
    async def run() -> HttpReply:
        transport = HttpTransport(None, env or {})
        try:
            return await transport.post(url, b"{}", 2.0)
        finally:
            await transport.close()

    return asyncio.run(run())


def with_server(handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> str:
    async def run() -> str:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = HttpTransport(None, {})
        try:
            await transport.post(f"http://127.0.0.1:{port}/f", b"{}", 2.0)
        except ExtenderUnreachableError as problem:
            return str(problem).replace(str(port), "PORT")
        finally:
            await transport.close()
            server.close()
        return ""

    return asyncio.run(run())


def test_nobody_listens() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ExtenderUnreachableError) as caught:
            post(f"http://127.0.0.1:{port}/filter")
    address = f"127.0.0.1:{port}"
    assert str(caught.value) == f'Post "http://{address}/filter": dial tcp {address}: connect: connection refused'


def test_no_such_host() -> None:
    with pytest.raises(ExtenderUnreachableError) as caught:
        post("http://nowhere.invalid/filter")
    assert str(caught.value) == 'Post "http://nowhere.invalid/filter": dial tcp: lookup nowhere.invalid: no such host'


def test_a_url_that_is_none() -> None:
    with pytest.raises(ExtenderUnreachableError, match="Post "):
        post("extender:80/filter")


def test_the_connection_is_closed_without_a_word() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    assert with_server(hang_up) == 'Post "http://127.0.0.1:PORT/f": EOF'


def test_the_reply_breaks_off() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        writer.close()

    assert with_server(break_off).startswith('Post "http://127.0.0.1:PORT/f": ')


def test_no_http() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        writer.close()

    assert with_server(babble).startswith('Post "http://127.0.0.1:PORT/f": ')


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_without_end(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.extender.client.transport.MAX_REPLY_BYTES", 100_000)

    def say(path: str, request: object) -> web.Response:
        body, headers = b"x" * 200_000, {"Content-Encoding": "gzip"} if packed else {}
        return web.Response(body=gzip.compress(body) if packed else body, headers=headers)

    async def run() -> None:
        async with FakeServer(say) as server:
            transport = HttpTransport(None, {})
            with pytest.raises(ExtenderUnreachableError, match=r"the reply is larger than 100,000 bytes"):
                await transport.post(f"{server.prefix}/filter", b"{}", 2.0)
            await transport.close()

    asyncio.run(run())


def test_compressed_replies_and_redirects() -> None:
    def say(path: str, request: object) -> web.Response:
        if path == "/old":
            return web.Response(status=307, headers={"Location": "/new"})
        return web.Response(body=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})

    async def run() -> None:
        async with FakeServer(say) as server:
            transport = HttpTransport(None, {})
            assert await transport.post(f"{server.prefix}/old", b'{"a":1}', 2.0) == HttpReply(200, b"{}")
            await transport.close()
            assert server.asked == [("/old", {"a": 1}), ("/new", {"a": 1})]

    asyncio.run(run())


def test_a_proxy_is_used() -> None:
    async def run() -> None:
        async with FakeServer(lambda path, request: {}) as proxy:
            transport = HttpTransport(None, {"HTTP_PROXY": proxy.prefix})
            await transport.post("http://extender.example/filter", b"{}", 2.0)
            await transport.close()
            assert proxy.headers[0]["Host"] == "extender.example"

    asyncio.run(run())
