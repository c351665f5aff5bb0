"""One client connection through the fault proxy."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from stowplan.testing.faults import Delay, Drop, Fault, Garble, Hold, Reply, RuleBook, is_watch
from stowplan.testing.http_messages import MessageHead, framed, read_head, request_body, response_body

_POLL_SECONDS = 0.01
"""Seconds; a hold is released by another thread."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SeveredError(Exception):
    """The connection is to be closed now: a fault demands it, or the server has closed its side."""


class ProxiedConnection:
    """Requests of one client, passed on one after the other over one connection to the server, opened when needed."""

    def __init__(
        self,
        client: Streams,
        connect: Callable[[], Awaitable[Streams]],
        rules: RuleBook,
    ) -> None:
        self._reader, self._writer = client
        self._connect = connect
        self._rules = rules
        self._server: Streams | None = None
        self._server_gone: asyncio.Task[None] | None = None
        self.watching = False
        """Whether the reply to a watch passes right now."""

    async def run(self) -> None:
        """Go on until either side has closed its connection, or a fault closes it."""
        client_gone = asyncio.ensure_future(_closed(self._writer))
        # A watch may be idle for long: without this the server would not notice that the client has gone.
        client_gone.add_done_callback(lambda _: self.sever())
        try:
            with suppress(OSError, asyncio.IncompleteReadError, SeveredError):
                while (head := await self._next_request()) is not None:
                    await self._exchange(head)
        finally:
            self.sever()

    def sever(self) -> None:
        """Close both connections at once."""
        self._writer.transport.abort()
        if self._server is not None:
            self._server[1].transport.abort()

    async def _next_request(self) -> MessageHead | None:
        """The head of the next request, or None after either side has closed."""
        if self._server_gone is None:
            return await read_head(self._reader)
        reading = asyncio.ensure_future(read_head(self._reader))
        await asyncio.wait({reading, self._server_gone}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            return reading.result()
        reading.cancel()
        return None

    async def _exchange(self, request: MessageHead) -> None:
        body = await request_body(self._reader, request)
        fault = self._rules.fault_for(request.method, request.path)
        match fault:
            case Reply():
                return await self._send(fault.render())
            case Drop(forward=False):
                raise SeveredError
            case Delay(forward=False):
                await asyncio.sleep(fault.seconds)
            case Hold():
                await self._until_released(fault)
        reader, writer = await self._to_server()
        writer.write(request.raw + body)
        await writer.drain()
        response = await read_head(reader)
        match fault:
            case Delay(forward=True):
                await asyncio.sleep(fault.seconds)
            case Drop():
                raise SeveredError
        if response is None:
            raise SeveredError
        await self._relay(request, response, reader, fault)

    async def _until_released(self, hold: Hold) -> None:
        while not hold.released:
            if self._writer.is_closing():
                raise SeveredError
            await asyncio.sleep(_POLL_SECONDS)

    async def _relay(
        self, request: MessageHead, response: MessageHead, reader: asyncio.StreamReader, fault: Fault | None
    ) -> None:
        """Pass the response on while it comes, with a frame put in where the fault wants one."""
        self.watching = is_watch(request.path)
        await self._send(response.raw)
        await self._garble(fault, response, passed=0)
        passed = 0
        async for piece in response_body(reader, response, request.method):
            await self._send(piece)
            passed += 1
            await self._garble(fault, response, passed)
        self.watching = False

    async def _garble(self, fault: Fault | None, response: MessageHead, passed: int) -> None:
        if isinstance(fault, Garble) and fault.after == passed and "transfer-encoding" in response.headers:
            await self._send(framed(fault.frame))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _to_server(self) -> Streams:
        if self._server is None:
            self._server = await self._connect()
            self._server_gone = asyncio.ensure_future(_closed(self._server[1]))
        return self._server


async def _closed(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await writer.wait_closed()
