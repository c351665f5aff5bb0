"""What is said where there is no reply: kube-scheduler's words, since people look for those."""

from __future__ import annotations

import asyncio
import gzip
import queue
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from typing import Any

import pytest
import uvloop
from aiohttp import web
from tests.builders import World, node, pod
from tests.unit.extender.client.fake_server import FakeServer

from stowplan.config.types import Extender as Entry
from stowplan.extender.client import build_extenders
from stowplan.extender.client.transport import ExtenderUnreachableError, HttpReply, HttpTransport
from stowplan.framework import Failure
from stowplan.framework.extender import CallExtender


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

    broken = "net/http: HTTP/1.x transport connection broken"
    assert with_server(babble) == f'Post "http://127.0.0.1:PORT/f": {broken}: malformed HTTP response "SSH-2.0-OpenSSH"'


# A request is written once
class Dropping:
    """Answers the first `answered` requests, and drops each connection that another one comes on. `head`: the part of
    a response before the connection is dropped."""

    def __init__(self, answered: int, head: bytes = b"") -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._answered = answered
        self._head = head

    async def read(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        self.requests.append(await reader.readexactly(length))

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError):
            while True:
                await self.read(reader)
                if len(self.requests) > self._answered:
                    writer.write(self._head)
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200"])
@pytest.mark.parametrize("answered", [0, 1])
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
def test_a_connection_that_drops_under_a_request_is_an_error(verb: str, answered: int, head: bytes, run: Any) -> None:
    """On a fresh connection and on one that was used before: as in Go, whose client repeats no POST of which it wrote
    a byte. The extender may have acted upon it."""
    server = Dropping(answered, head)

    async def main() -> None:
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            entry = Entry(url_prefix=url, node_cache_capable=True, **{f"{verb}_verb": verb})
            (extender,) = build_extenders([entry], env={})
            world = World([node("a")])
            argument: Any = {"bind": "a", "preempt": {}}.get(verb, list(world.cluster.nodes))
            call = CallExtender(extender, verb, world.pod(pod("p")), argument)  # type: ignore[arg-type]
            for _ in range(answered):
                await extender.call(call)
            answer = await extender.call(call)
            await extender.close()
            assert isinstance(answer, Failure)
            assert answer.message == f'Post "{url}/{verb}": EOF'

    run(main())
    assert (server.connections, len(server.requests)) == (1, answered + 1)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_written_to(run: Any) -> None:
    """Also where the event loop was held up by scheduling cycles, and has not noticed."""

    class Closing(Dropping):
        async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            await self.read(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()

    server = Closing(0)

    async def serve() -> None:
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            ports.put(listening.sockets[0].getsockname()[1])
            await asyncio.sleep(1)

    async def main() -> None:
        transport = HttpTransport(None, {})
        for _ in range(3):
            assert await transport.post(f"http://127.0.0.1:{port}/f", b"{}", 2.0) == HttpReply(200, b"{}")
            time.sleep(0.2)
        await transport.close()

    ports: queue.Queue[int] = queue.Queue()
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    port = ports.get()
    run(main())
    thread.join()
    assert server.connections == len(server.requests) == 3


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


Requests = list[tuple[str, Any]]


def redirected(location: str, status: int = 307) -> tuple[HttpReply | str, Requests, Requests]:
    """The reply or the error of an extender that redirects /filter, its requests, and those of another server.

    In the location, OWN and OTHER stand for the addresses of both servers.
    """

    async def run() -> tuple[HttpReply | str, Requests, Requests]:
        async with FakeServer(lambda path, request: {"from": "other"}) as other:

            def answer(path: str, request: object) -> Any:
                if path == "/there":
                    return {"from": "own"}
                target = location.replace("OWN", own.prefix).replace("OTHER", other.prefix)
                return web.Response(status=status, headers={"Location": target})

            async with FakeServer(answer) as own:
                transport = HttpTransport(None, {})
                try:
                    reply: HttpReply | str = await transport.post(f"{own.prefix}/filter", b'{"pod": 1}', 5.0)
                except ExtenderUnreachableError as problem:
                    reply = str(problem).replace(own.prefix, "OWN").replace(other.prefix, "OTHER")
                finally:
                    await transport.close()
                return reply, own.asked, other.asked

    return asyncio.run(run())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_to_another_server_is_followed(status: int) -> None:
    reply, own, other = redirected("OTHER/there", status)
    assert other == []
    assert own == [("/filter", {"pod": 1})]
    assert reply == 'Post "OWN/filter": redirected to "OTHER/there", which is not the extender\'s own address'


def test_names_of_the_same_machine_are_other_hosts() -> None:
    reply, own, _ = redirected("http://localhost:1/there")
    assert "which is not the extender's own address" in str(reply)
    assert len(own) == 1


@pytest.mark.parametrize(
    ("status", "sent"), [(301, None), (302, None), (303, None), (307, {"pod": 1}), (308, {"pod": 1})]
)
@pytest.mark.parametrize("location", ["/there", "OWN/there", "there"])
def test_redirects_on_the_same_server_are_followed_as_go_does(status: int, sent: object, location: str) -> None:
    reply, own, _ = redirected(location, status)
    assert reply == HttpReply(200, b'{"from": "own"}')
    assert own == [("/filter", {"pod": 1}), ("/there", sent)]


def test_redirects_end() -> None:
    reply, own, _ = redirected("/filter")
    assert reply == 'Post "OWN/filter": stopped after 10 redirects'
    assert len(own) == 10
