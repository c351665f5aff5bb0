"""Clients that do not behave as one would wish, on both event loops."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop
from tests.unit.extender.server.fakes import Canned, connected, make_answering, reply, serving

from stowplan.extender.server.request_handling import Answering

pytestmark = pytest.mark.usefixtures("klog")

ONE = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"

LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


def run(test: Awaitable[None], loop: Callable[[], Any]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test, 60)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(limited())


def counted(answering: Answering, series: str) -> bool:
    return f"stowplan_extender_{series}\n".encode() in answering.metrics.registry.expose()


@LOOPS
def test_a_client_that_has_said_all_it_wanted_gets_its_answers(loop: Callable[[], Any]) -> None:
    async def slowly(verb: Any, body: bytes) -> Any:
        await asyncio.sleep(0.02)
        return reply(verb, b"{}")

    async def test() -> None:
        async with serving(make_answering(Canned(slowly))) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
            writer.write(ONE * 3)
            writer.write_eof()
            assert (await reader.read()).count(b"HTTP/1.1 200 OK") == 3
            writer.close()

    run(test(), loop)


@LOOPS
@pytest.mark.parametrize("part", [ONE[:10], ONE[:-1], ONE + ONE[:10], ONE + ONE[:-1]])
def test_the_rest_of_a_request_that_cannot_come_is_not_waited_for(part: bytes, loop: Callable[[], Any]) -> None:
    async def test() -> None:
        async with serving(make_answering()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
            writer.write(part)
            writer.write_eof()
            assert (await asyncio.wait_for(reader.read(), 30)).count(b"HTTP/1.1 200 OK") == part.count(b"abc")
            writer.close()

    run(test(), loop)


@LOOPS
def test_more_in_line_than_there_is_room_for(loop: Callable[[], Any]) -> None:
    answers = Canned()

    async def test() -> None:
        async with serving(make_answering(answers)) as port, connected(port.port) as wire:
            sending = asyncio.create_task(wire.send(ONE * 5000))
            for _ in range(5000):
                assert (await wire.receive())[0] == 200
            await sending

    run(test(), loop)
    assert answers.asked == [("filter", b"abc")] * 5000


@LOOPS
def test_who_does_not_read_answers_is_asked_to_wait(loop: Callable[[], Any]) -> None:
    answers = Canned(_much)

    async def test() -> None:
        async with serving(make_answering(answers)) as port, connected(port.port, limit=1 << 24) as wire:
            wire.stop_reading()
            await wire.send(ONE * 60)
            await asyncio.sleep(0.3)
            assert len(answers.asked) < 20
            wire.go_on_reading()
            for _ in range(60):
                assert (await wire.receive())[0] == 200

    run(test(), loop)
    assert len(answers.asked) == 60


@LOOPS
def test_who_never_reads_answers_is_left(loop: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.extender.server.http._IDLE_CHECK_SECONDS", 0.01)
    monkeypatch.setattr("stowplan.extender.server.connection.RECEIVE_SECONDS", 0.1)

    answers = Canned(_much)

    async def test() -> None:
        async with serving(make_answering(answers)) as port:
            with socket.create_connection(("127.0.0.1", port.port)) as silent:
                silent.sendall(ONE * 60)
                await _until(lambda: bool(answers.asked))
                await _until(lambda: not port._connections)

    run(test(), loop)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/version", "/metrics", "/nope"])
def test_no_room_is_made_for_bodies_of_pages(path: str) -> None:
    async def test() -> None:
        async with serving(make_answering(), largest_body=1000) as port, connected(port.port) as wire:
            await wire.send(f"POST {path} HTTP/1.1\r\nContent-Length: 20000000000\r\n\r\n".encode())
            status, headers, _ = await asyncio.wait_for(wire.receive(), 30)
            assert (status, headers["connection"]) == (404, "close")

    run(test(), asyncio.new_event_loop)


@pytest.mark.parametrize("head", ["Content-Length: 32\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n20\r\n"])
def test_bodies_that_are_too_large_are_counted_and_told_of(head: str, capfd: pytest.CaptureFixture[str]) -> None:
    answering = make_answering()

    async def test() -> None:
        async with serving(answering, largest_body=10) as port, connected(port.port) as wire:
            await wire.send(f"POST /filter HTTP/1.1\r\n{head}".encode() + b"x" * 32)
            assert (await wire.receive())[0] == 413

    run(test(), asyncio.new_event_loop)
    assert counted(answering, 'refused_requests_total{cause="too_large"} 1')
    assert "is larger than the 10 bytes that are accepted (--max-body-size)" in capfd.readouterr().err


async def _much(verb: Any, body: bytes) -> Any:
    return reply(verb, b"n" * (1 << 20))


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)
