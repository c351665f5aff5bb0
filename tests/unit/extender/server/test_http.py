"""The server, byte by byte, on loopback."""

import asyncio
import gzip
import random
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
import trustme
import uvloop
from tests.unit.extender.server.fakes import Canned, Wire, connected, make_answering, reply, serving

from stowplan.extender.server.configuration import load
from stowplan.extender.server.scheduler_port import SchedulerPort


def on_a_wire(test: Callable[..., Awaitable[None]], answers: Canned | None = None, **options: Any) -> Canned:
    """Run a test on a fresh connection to a fresh server."""
    answers = answers or Canned()

    async def run() -> None:
        async with serving(make_answering(answers), **options) as port, connected(port.port) as wire:
            await asyncio.wait_for(test(wire, port), 60)

    asyncio.run(run())
    return answers


def test_requests_on_one_connection() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        for path in ("/filter", "//filter/", "/v1/prioritize"):
            status, headers, body = await wire.post(path, b"x" * 10)
            assert (status, body) == (200, b'{"n":10}')
            assert headers["content-length"] == "8"
            assert headers["content-type"] == "application/json"
            assert "connection" not in headers

    answers = on_a_wire(test)
    assert [verb for verb, _ in answers.asked] == ["filter", "filter", "prioritize"]


@pytest.mark.parametrize("size", [0, 1, 65_000, 65_536, 300_000, 1 << 20])
def test_bodies_of_any_size_arrive_whole(size: int) -> None:
    content = bytes(i % 251 for i in range(size))

    async def test(wire: Wire, port: SchedulerPort) -> None:
        assert (await wire.post("/filter", content))[0] == 200

    assert on_a_wire(test).asked == [("filter", content)]


def test_a_body_in_many_pieces() -> None:
    content = bytes(i % 251 for i in range(100_000))

    async def test(wire: Wire, port: SchedulerPort) -> None:
        head = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
        whole = head + content
        for start in range(0, len(whole), 9_973):
            await wire.send(whole[start : start + 9_973])
            await asyncio.sleep(0.001)
        assert (await wire.receive())[2] == b'{"n":100000}'

    assert on_a_wire(test).asked == [("filter", content)]


@pytest.mark.parametrize("holds", [True, False])
def test_large_bodies_on_one_connection(holds: bool) -> None:
    """Memory is used again, unless somebody still looks at what is in it."""
    seen: list[Any] = []
    sizes = (400_000, 400_010, 399_990, 700_000, 300_000, 430_000)

    class Holder(Canned):
        async def answer(self, verb: Any, body: Any, received_at: float | None = None) -> Any:
            seen.append(body if holds else bytes(body))
            return await super().answer(verb, b"")

    async def test(wire: Wire, port: SchedulerPort) -> None:
        for number, size in enumerate(sizes):
            assert (await wire.post("/filter", b"%d" % number * size))[0] == 200

    on_a_wire(test, Holder())
    assert [
        bytes(body) == b"%d" % number * size for number, (body, size) in enumerate(zip(seen, sizes, strict=True))
    ] == [True] * len(sizes)


def test_requests_that_come_before_the_answer_to_the_first() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        one = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        await wire.send(one * 3 + one[:20])
        await wire.send(one[20:])
        for _ in range(4):
            assert (await wire.receive())[0] == 200

    assert on_a_wire(test).asked == [("filter", b"abc")] * 4


def test_very_many_in_line() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(
            b"GET /nope HTTP/1.1\r\n\r\n" * 2500 + b"POST /filter HTTP/1.1\r\nContent-Length: 1\r\n\r\nx" * 500
        )
        for _ in range(2500):
            assert (await wire.receive())[0] == 404
        for _ in range(500):
            assert (await wire.receive())[0] == 200

    assert len(on_a_wire(test).asked) == 500


def test_refusals_keep_the_connection_where_the_whole_request_is_there() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        assert (await wire.post("/nope", b"{}"))[0] == 404
        assert (await wire.post("/filter", b"{}"))[0] == 200
        await wire.send(b"POST /nope HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        assert (await wire.receive())[0] == 404
        assert await wire.at_end()

    on_a_wire(test)


def test_noise_costs_only_its_own_connection() -> None:
    rng = random.Random(1)
    good = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\nhello world"

    def noise() -> bytes:
        data = bytearray(good * rng.randint(1, 3))
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        return bytes(data[: rng.randint(1, len(data))])

    async def run() -> None:
        async with serving(make_answering()) as port:
            for _ in range(300):
                async with connected(port.port) as wire:
                    await wire.send(noise())
                    await asyncio.sleep(0)
            async with connected(port.port) as wire:
                assert (await wire.post("/filter", b"{}"))[0] == 200

    asyncio.run(run())


def test_a_body_in_chunks() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab")
        await asyncio.sleep(0.01)
        await wire.send(b"c\r\n2\r\nde\r\n0\r\n\r\n")
        status, headers, _ = await wire.receive()
        assert (status, headers["connection"]) == (200, "close")

    assert on_a_wire(test).asked == [("filter", b"abcde")]


def test_what_is_too_large_is_refused_before_it_is_sent() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n")
        status, headers, body = await wire.receive()
        assert (status, headers["connection"]) == (413, "close")
        assert body == b"a body of 1,001 bytes is larger than the 1,000 bytes that are accepted (--max-body-size)\n"
        await wire.send(b"x" * 1001)  # which is read and thrown away, so that the client gets to see the answer

    assert on_a_wire(test, largest_body=1000).asked == []


def test_chunks_that_get_too_large() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(
            b"POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + b"x" * 32
        )
        assert (await wire.receive())[0] == 413

    assert on_a_wire(test, largest_body=10).asked == []


CHUNKED = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "part", [b"X: y\r\n" * 10_000, b"x" * 60_000, b"X: " + b"y" * 60_000], ids=["many fields", "a name", "a value"]
)
def test_a_trailer_without_end(part: bytes) -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(CHUNKED + b"1\r\na\r\n0\r\n")
        with suppress(ConnectionError):
            for _ in range(20):
                await wire.send(part)
        assert (await wire.receive())[0] == 431

    assert on_a_wire(test).asked == []


def test_a_chunk_extension_without_end() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(CHUNKED + b"1;" + b"x" * 200_000)
        assert (await wire.receive())[0] == 431

    assert on_a_wire(test).asked == []


def test_trailers_count_against_the_budget() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(CHUNKED + b"1\r\na\r\n0\r\n")
        for _ in range(4):
            await wire.send(b"X: " + b"y" * 10_000)
            await asyncio.sleep(0.02)
        assert (await wire.receive())[0] == 503

    assert on_a_wire(test, max_total_bytes=30_000).asked == []


def test_a_short_trailer_is_read() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(CHUNKED + b"1\r\na\r\n0\r\nX: y\r\n\r\n")
        assert (await wire.receive())[0] == 200

    assert on_a_wire(test).asked == [("filter", b"a")]


def test_paths_that_there_are_not() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        status, _, body = await wire.post("/filters", b"{}")
        assert status == 404
        assert body.startswith(b"there is no /filters; there are /filter (filter), /prioritize (prioritize)")

    on_a_wire(test)


def test_only_post_for_verbs() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        assert (await wire.get("/filter"))[0] == 405
        assert (await wire.get("/healthz"))[::2] == (200, b"ok")

    on_a_wire(test)


@pytest.mark.parametrize("junk", [b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"])
def test_what_is_not_http(junk: bytes) -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(junk)
        status, headers, _ = await wire.receive()
        assert (status, headers["connection"]) == (400, "close")

    on_a_wire(test)


def test_a_head_without_end() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(b"POST /filter HTTP/1.1\r\nX: " + b"x" * 70_000)
        assert (await wire.receive())[0] == 431

    on_a_wire(test)


def test_curl_asks_before_it_sends_much() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(b"POST /filter HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert (await wire.receive())[0] == 100
        await wire.send(b"{}")
        assert (await wire.receive())[0] == 200

    on_a_wire(test)


def test_connections_of_old_clients_end() -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(b"POST /filter HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        assert (await wire.receive())[1]["connection"] == "close"
        assert await wire.at_end()

    on_a_wire(test)


def test_an_answer_that_fails() -> None:
    async def fail(verb: Any, body: bytes) -> Any:
        raise RuntimeError("out of order")

    async def test(wire: Wire, port: SchedulerPort) -> None:
        assert (await wire.post("/filter", b"{}"))[::2] == (500, b"internal error: RuntimeError\n")
        assert (await wire.get("/healthz"))[0] == 200

    on_a_wire(test, Canned(fail))


@pytest.mark.parametrize(
    ("mode", "accepts", "size", "packed"),
    [
        ("always", "gzip", 100_000, True),
        ("always", "br", 100_000, False),
        ("always", "gzip", 1_000, False),
        ("auto", "gzip", 100_000, False),  # from this machine
        ("never", "gzip", 100_000, False),
    ],
)
def test_gzip(mode: str, accepts: str, size: int, packed: bool) -> None:
    async def answer(verb: Any, body: bytes) -> Any:
        return reply(verb, b"n" * size)

    async def test(wire: Wire, port: SchedulerPort) -> None:
        _, headers, body = await wire.post("/filter", b"{}", Accept_Encoding=accepts)
        assert ("content-encoding" in headers) == packed
        assert int(headers["content-length"]) == len(body)
        assert (gzip.decompress(body) if packed else body) == b"n" * size

    on_a_wire(test, Canned(answer), gzip=mode)


def test_idle_and_slow_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.extender.server.http._IDLE_CHECK_SECONDS", 0.01)
    monkeypatch.setattr("stowplan.extender.server.connection.RECEIVE_SECONDS", 0.05)

    async def test(wire: Wire, port: SchedulerPort) -> None:
        assert port.keep_alive >= 120
        async with connected(port.port) as slow:
            await slow.send(b"POST /filter HT")
            assert await slow.at_end()
        port.keep_alive = 0.05
        assert await wire.at_end()

    on_a_wire(test)


def test_a_client_that_goes_away_is_counted() -> None:
    gone = asyncio.Event()

    async def answer(verb: Any, body: bytes) -> Any:
        await gone.wait()
        return reply(verb, b"{}")

    async def run() -> None:
        answering = make_answering(Canned(answer))
        async with serving(answering) as port:
            async with connected(port.port) as wire:
                await wire.send(b"POST /filter HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.05)
            gone.set()
        assert b'stowplan_extender_abandoned_total{verb="filter"} 1\n' in answering.metrics.registry.expose()

    asyncio.run(run())


def test_draining_answers_what_has_come() -> None:
    go_on = asyncio.Event()

    async def answer(verb: Any, body: bytes) -> Any:
        await go_on.wait()
        return reply(verb, b"{}")

    async def run() -> None:
        async with (
            serving(make_answering(Canned(answer))) as port,
            connected(port.port) as busy,
            connected(port.port) as late,
            connected(port.port) as idle,
        ):
            await busy.send(b"POST /filter HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            await late.send(b"POST /filter HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
            await asyncio.sleep(0.05)
            draining = asyncio.create_task(port.drain(30.0))
            await asyncio.sleep(0.05)
            with pytest.raises(OSError, match=r".*"):
                await asyncio.open_connection("127.0.0.1", port.port)
            await late.send(b"        ")
            go_on.set()
            for wire in (busy, late):
                status, headers, _ = await wire.receive()
                assert (status, headers["connection"]) == (200, "close")
                assert await wire.at_end()
            await idle.send(b"POST /filter HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")  # just before it is closed
            assert (await idle.receive())[0] == 200
            await asyncio.wait_for(draining, 30)

    asyncio.run(run())


def test_draining_does_not_wait_for_ever() -> None:
    async def answer(verb: Any, body: bytes) -> Any:
        await asyncio.sleep(60)

    async def run() -> None:
        async with serving(make_answering(Canned(answer))) as port, connected(port.port) as wire:
            await wire.send(b"POST /filter HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            await asyncio.sleep(0.05)
            begun = time.monotonic()
            await port.drain(0.1)
            assert 0.1 <= time.monotonic() - begun < 10, "the answer takes 60 s"
            assert await wire.at_end(), "the connection is closed without an answer"

    asyncio.run(run())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("secure", [True, False])
def test_much_to_and_fro(loop: str, secure: bool) -> None:
    """Megabytes in both directions, on either event loop, with TLS and without."""
    authority = trustme.CA()
    server, client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    content = bytes(i % 253 for i in range(100_003)) * 50

    async def answer(verb: Any, body: bytes) -> Any:
        return reply(verb, body)

    async def run() -> None:
        options: dict[str, Any] = {"ssl": client, "server_hostname": "localhost"} if secure else {}
        answering = make_answering(Canned(answer))
        async with (
            serving(answering, largest_body=1 << 24, tls=server if secure else None) as port,
            connected(port.port, limit=1 << 24, **options) as wire,
        ):
            for size in (len(content), len(content) - 5, len(content)):
                status, _, body = await asyncio.wait_for(wire.post("/filter", content[:size]), 60)
                assert status == 200
                assert body == content[:size]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop == "uvloop" else None) as runner:
        runner.run(run())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_handshake_that_does_not_end_counts_as_a_connection(loop: str) -> None:
    authority = trustme.CA()
    server, client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    secure: dict[str, Any] = {"ssl": client, "server_hostname": "localhost"}

    async def run() -> None:
        answering = make_answering()
        async with serving(answering, tls=server, max_connections=3) as port, AsyncExitStack() as stack:
            used = await stack.enter_async_context(connected(port.port, **secure))
            assert (await used.post("/filter", b"abc"))[0] == 200
            silent = [await stack.enter_async_context(connected(port.port)) for _ in range(6)]
            fresh = await stack.enter_async_context(connected(port.port, **secure))
            assert (await fresh.post("/filter", b"abc"))[0] == 200
            for wire in silent[:5]:
                assert await wire.at_end()
            assert (await used.post("/filter", b"abc"))[0] == 200
        assert not port._connections
        assert b'refused_requests_total{cause="too_many_connections"} 5' in answering.metrics.registry.expose()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop == "uvloop" else None) as runner:
        runner.run(run())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("", 200),
        ("Host: localhost:8888\r\n", 200),
        ("Host: 127.0.0.1\r\n", 200),
        ("Host: [::1]:8888\r\nOrigin: http://localhost:3000\r\n", 200),
        ("Host: rebound.example.com\r\n", 421),
        ("Host: 10.0.0.1\r\n", 421),
        ("Host: localhost\r\nOrigin: https://example.com\r\n", 421),
        ("Host: localhost\r\nOrigin: null\r\n", 421),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_foreign_hosts_and_origins_are_refused_on_loopback(headers: str, status: int, address: str) -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(f"POST /filter HTTP/1.1\r\n{headers}Content-Length: 3\r\n\r\nabc".encode())
        assert (await wire.receive())[0] == status
        async with connected(port.port) as other:
            await other.send(f"GET /healthz HTTP/1.1\r\n{headers}\r\n".encode())
            assert (await other.receive())[0] == status

    assert len(on_a_wire(test, address=address).asked) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Host: extender.internal:8888\r\n", 200),
        ("Host: Extender.Internal.\r\nOrigin: http://extender.internal\r\n", 200),
        ("Host: localhost\r\n", 200),
        ("Host: other.internal\r\n", 421),
        ("Host: x.extender.internal\r\n", 421),
        ("Host: extender.internal\r\nOrigin: https://example.com\r\n", 421),
    ],
)
def test_a_loopback_port_accepts_allowed_hosts(headers: str, status: int) -> None:
    async def test(wire: Wire, port: SchedulerPort) -> None:
        await wire.send(f"POST /filter HTTP/1.1\r\n{headers}Content-Length: 3\r\n\r\nabc".encode())
        assert (await wire.receive())[0] == status

    allowed = load(None, "flags", {"serving": {"allowedHosts": ["Extender.internal"]}}, needs_plugins=False)
    on_a_wire(test, allowed_hosts=allowed.serving.other_hosts)
