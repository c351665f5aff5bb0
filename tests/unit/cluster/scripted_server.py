"""A local HTTP server that does exactly what a test wants, be it wrong, and a writer's way to it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest
import uvloop
from httptools import HttpRequestParser
from tests.unit.cluster.proto_json import read_body

from stowplan.cluster.connection import Connection, Credentials, Identity
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.tls import Trust
from stowplan.cluster.write_client import WriteRequest


class Received(NamedTuple):
    """A request as it arrived, and a way to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    peer: Peer

    @property
    def json(self) -> Any:
        return read_body(self.body, self.headers["content-type"])


class Peer(asyncio.Protocol):
    """One connection, seen from the server."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server

    def connection_made(self, transport: Any) -> None:
        self.number = len(self._server.peers)
        self._server.peers.append(self)
        self.transport = transport
        self._parser = HttpRequestParser(self)
        if self._server.refuses:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._path, self._headers, self._body = "", {}, b""

    def on_url(self, url: bytes) -> None:
        self._path += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode()

    def on_body(self, part: bytes) -> None:
        self._body += part

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode()
        received = Received(method, self._path, self._headers, self._body, self)
        self._server.received.append(received)
        self._server.answer(received)

    def reply(self, status: int = 200, body: Any = None, **headers: str) -> None:
        self.transport.write(http(status, body, **headers))


class ScriptedServer:
    """Remembers what it received; `answer` decides what happens then."""

    def __init__(self, answer: Callable[[Received], None]) -> None:
        self.answer = answer
        self.peers: list[Peer] = []
        self.received: list[Received] = []
        self.refuses = False
        """Whether new connections are closed at once."""
        self.url = ""
        self._server: asyncio.Server | None = None

    @property
    def asked(self) -> list[str]:
        return [f"{each.method} {each.path}" for each in self.received]

    async def start(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Peer(self), "127.0.0.1", port, ssl=tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for peer in self.peers:
            peer.transport.abort()
        await asyncio.sleep(0)

    def connection(self, credentials: Credentials | None = None, prefix: str = "", **more: Any) -> Connection:
        return Connection(self.url + prefix, credentials or Token(), **{"trust": Trust(insecure=True), **more})


@asynccontextmanager
async def serving(
    answer: Callable[[Received], None], tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(answer)
    await server.start(tls)
    try:
        yield server
    finally:
        await server.stop()


def http(status: int = 200, body: Any = None, **headers: str) -> bytes:
    """A reply with a length, unless that is set to the empty string."""
    payload = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    fields = {"content-length": str(len(payload)), **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in fields.items() if v)]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def refusal(reason: str, message: str = "") -> dict[str, Any]:
    """A Kubernetes Status."""
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}


def ok(received: Received) -> None:
    received.peer.reply(201)


class Token:
    """Credentials that count their reads."""

    def __init__(self, renewable: bool = False) -> None:
        self.renewable = renewable
        self.count = 0

    def obtain(self) -> Identity:
        self.count += 1
        return Identity({"Authorization": f"Bearer token-{self.count}"})


class Call(WriteRequest):
    """An exchange whose outcome can be awaited: the status and body, or the error and whether it was sent."""

    __slots__ = ("outcome",)

    def __init__(self, path: str = "/x", body: bytes = b"{}", method: str = "POST", **more: Any) -> None:
        super().__init__(method.encode(), path.encode(), body, **more)
        self.outcome: asyncio.Future[tuple[Any, Any]] = asyncio.get_running_loop().create_future()

    def replied(self, status: int, body: bytes) -> None:
        self.outcome.set_result((status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self.outcome.set_result((error, sent))


def run(
    steps: Coroutine[Any, Any, None], loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
) -> None:
    """Run the steps on an event loop of its own; what goes wrong in callbacks fails the test as well."""
    problems: list[Any] = []

    async def play() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with asyncio.timeout(10):
            await steps

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(play())
    if problems:
        pytest.fail(f"in a callback: {problems}")
