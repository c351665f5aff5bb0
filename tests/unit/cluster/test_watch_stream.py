"""What the server may send in reply to a watch."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from tests.unit.cluster.scripted_tokens import Tokens

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ConnectionFailedError

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Script = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
"""Gets the head of a request, and writes the reply."""


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


@asynccontextmanager
async def client_of(script: Script, *tokens: str) -> AsyncIterator[Client]:
    handlers: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                await script(await reader.readuntil(b"\r\n\r\n"), writer)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = Client(Connection(f"http://127.0.0.1:{port}/below", Tokens(*(tokens or ("t",)))))
    try:
        yield client
    finally:
        await client.close()
        server.close()
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await asyncio.sleep(0)


def watched(script: Script, *tokens: str, silence: float = 5.0) -> bytes:
    async def main() -> bytes:
        async with client_of(script, *tokens) as client, client.open_watch("/x", {"a": "b c"}, silence) as pieces:
            return b"".join([piece async for piece in pieces])

    return asyncio.run(main())


def test_the_request() -> None:
    heads = []

    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(CHUNKED + chunk(b"one\n") + chunk(b"two\n") + b"0\r\n\r\n")

    assert watched(script) == b"one\ntwo\n"
    lines = heads[0].split(b"\r\n")
    assert lines[0] == b"GET /below/x?a=b+c HTTP/1.1"
    assert {b"Authorization: Bearer t", b"Accept: application/json", b"Accept-Encoding: identity"} < set(lines)


def test_a_reply_without_a_length_ends_with_the_connection() -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\n")

    assert watched(script) == b"one\n"


@pytest.mark.parametrize(
    "reply", [b"", CHUNKED, CHUNKED + b"4\r\non", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none"]
)
def test_a_reply_that_is_cut_off(reply: bytes) -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    with pytest.raises(ConnectionFailedError, match="connection closed by the server"):
        watched(script)


def test_a_reply_that_is_not_http() -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")

    with pytest.raises(ConnectionFailedError, match="the reply is not HTTP"):
        watched(script)


def test_silence_counts_from_the_last_piece() -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(6):
            await asyncio.sleep(0.05)
            writer.write(chunk(b"."))
        await asyncio.sleep(5)

    began = time.monotonic()
    with pytest.raises(ConnectionFailedError, match="no reply in time"):
        watched(script, silence=0.15)
    assert 0.4 < time.monotonic() - began < 3


def test_a_slow_reader_slows_down_the_server() -> None:
    sent = 0

    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(CHUNKED)
        for _ in range(64):
            writer.write(chunk(b"x" * 1_000_000))
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")

    async def main() -> tuple[int, int]:
        async with client_of(script) as client, client.open_watch("/x", {}, 0.2) as pieces:
            total = len(await anext(pieces))
            await asyncio.sleep(0.5)  # Longer than the server may be silent: it was not listened to.
            before = sent
            async for piece in pieces:
                total += len(piece)
            return before, total

    assert asyncio.run(main())[0] < 32
    assert (sent, asyncio.run(main())[1]) == (64, 64_000_000)


def test_a_server_that_is_not_there() -> None:
    async def main() -> None:
        client = Client(Connection("http://127.0.0.1:9", Tokens("t")))
        async with client.open_watch("/x", {}, 5.0):
            pass

    with pytest.raises(ConnectionFailedError, match=r"^http://127\.0\.0\.1:9: Connection refused$"):
        asyncio.run(main())


@pytest.mark.parametrize(("good", "problem"), [(b"two", ""), (b"three", "Unauthorized")])
def test_a_refused_login_is_renewed_once(good: bytes, problem: str) -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        if b"Bearer " + good in head:
            writer.write(CHUNKED + chunk(b"in") + b"0\r\n\r\n")
        else:
            writer.write(b'HTTP/1.1 401 Unauthorized\r\nContent-Length: 25\r\n\r\n{"reason":"Unauthorized"}')

    if problem:
        with pytest.raises(ApiError, match=problem):
            watched(script, "one", "two")
    else:
        assert watched(script, "one", "two") == b"in"


def test_the_pause_that_a_refusal_asks_for() -> None:
    async def script(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")

    with pytest.raises(ApiError) as caught:
        watched(script)
    assert (caught.value.status, caught.value.retry_after) == (429, 7.0)
