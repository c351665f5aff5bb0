"""Answers without plugins, and a raw client that sees every byte."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from stowplan.extender.handlers import CallFacts, Verb, VerbReply
from stowplan.extender.server.client_access import Access
from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.extender.server.pages import OperatorPages
from stowplan.extender.server.paths import Paths
from stowplan.extender.server.request_handling import Answering, RequestObserver
from stowplan.extender.server.scheduler_port import SchedulerPort
from stowplan.observe.health import PING
from stowplan.observe.registry import MetricRegistry
from stowplan.serving import ServingOptions, listen

Answer = Callable[[Verb, bytes], Awaitable[VerbReply]]


class Canned:
    """Answers all requests in one way, and remembers them."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.asked: list[tuple[Verb, bytes]] = []
        self._answer = answer

    async def answer(self, verb: Verb, body: bytes | bytearray, received_at: float | None = None) -> VerbReply:
        self.asked.append((verb, bytes(body)))
        if self._answer is not None:
            return await self._answer(verb, bytes(body))
        return reply(verb, b'{"n":%d}' % len(body))


def reply(verb: Verb, body: bytes, status: int = 200, **facts: Any) -> VerbReply:
    told = CallFacts(verb)
    for name, value in facts.items():
        setattr(told, name, value)
    return VerbReply(status, body, told)


def make_answering(answers: Canned | None = None, *observers: RequestObserver) -> Answering:
    return Answering(answers or Canned(), Paths(), ServerMetrics(MetricRegistry()), observers)


@asynccontextmanager
async def serving(answering: Answering, **options: Any) -> AsyncIterator[SchedulerPort]:
    """A port on loopback, or on the address of the options."""
    pages = OperatorPages(answering.metrics.registry, DecisionLog(), live=[PING], ready=[PING])
    options = {
        "access": Access(required=False),
        "pages": pages,
        "largest_body": 1 << 20,
        "max_total_bytes": 8 << 20,
        "max_connections": 100,
        **options,
    }
    listener = listen(ServingOptions(address=options.pop("address", "127.0.0.1"), port=0))
    port = SchedulerPort(listener, options.pop("tls", None), answering, **options)
    await port.start()
    try:
        yield port
    finally:
        await port.drain(1.0)


class Wire:
    """A connection on which raw requests are sent and responses are read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body

    async def post(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.send(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        return await self.receive()

    async def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        await self.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return await self.receive()

    async def at_end(self) -> bool:
        return await asyncio.wait_for(self._reader.read(), 60) == b""

    def stop_reading(self) -> None:
        self._transport().pause_reading()

    def go_on_reading(self) -> None:
        self._transport().resume_reading()

    def _transport(self) -> asyncio.Transport:
        return cast(asyncio.Transport, self._writer.transport)

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def connected(port: int, **options: Any) -> AsyncIterator[Wire]:
    wire = Wire(*await asyncio.open_connection("127.0.0.1", port, **options))
    try:
        yield wire
    finally:
        wire.close()
