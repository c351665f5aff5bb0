"""The connections of a writer: opened as needed, reused, closed, and limited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.builders import until
from tests.unit.cluster.scripted_server import Call, Received, ScriptedServer, ok, run, serving

from stowplan.cluster.errors import ConnectionFailedError
from stowplan.cluster.write_client import Writer

WRITER = "stowplan.cluster.write_client.writer"


@asynccontextmanager
async def writing(
    answer: Callable[[Received], None], connections: int = 4, **options: float
) -> AsyncIterator[tuple[Writer, ScriptedServer]]:
    async with serving(answer) as server:
        writer = Writer(server.connection(), connections=connections, **options)  # type: ignore[arg-type]
        try:
            yield writer, server
        finally:
            assert await writer.drain(5)


async def send(writer: Writer, count: int) -> list[Call]:
    calls = [Call(f"/{number}") for number in range(count)]
    for call in calls:
        writer.submit(call)
    return calls


def test_requests_one_after_the_other_use_one_connection() -> None:
    async def steps() -> None:
        async with writing(ok) as (writer, server):
            for _ in range(10):
                (call,) = await send(writer, 1)
                assert await call.outcome == (201, b"{}")
            assert len(server.peers) == 1

    run(steps())


def test_no_more_connections_are_opened_than_allowed_and_the_rest_waits() -> None:
    held: list[Received] = []

    async def steps() -> None:
        async with writing(held.append) as (writer, server):
            calls = await send(writer, 10)
            await until(lambda: len(held) == 4)
            await asyncio.sleep(0.02)
            assert (len(server.peers), len(held), writer.waiting, writer.outstanding) == (4, 4, 6, 10)
            server.answer = ok
            for received in held:
                received.peer.reply(201)
            assert [(await call.outcome)[0] for call in calls] == [201] * 10
            assert len(server.peers) == 4

    run(steps())


def test_no_more_connections_are_opened_than_there_are_requests() -> None:
    async def steps() -> None:
        async with writing(ok, connections=64) as (writer, server):
            for call in await send(writer, 3):
                await call.outcome
            assert len(server.peers) <= 3

    run(steps())


def test_the_last_used_connection_is_used_next() -> None:
    held: list[Received] = []

    async def steps() -> None:
        async with writing(held.append, connections=2) as (writer, server):
            calls = await send(writer, 2)
            await until(lambda: len(held) == 2)
            server.answer = ok
            first, last = held
            first.peer.reply(201)
            await calls[int(first.path[1:])].outcome
            last.peer.reply(201)
            await calls[int(last.path[1:])].outcome
            for _ in range(3):
                (call,) = await send(writer, 1)
                await call.outcome
                assert server.received[-1].peer is last.peer

    run(steps())


def test_a_connection_that_the_server_closes_is_replaced() -> None:
    def close_after(received: Received) -> None:
        received.peer.reply(201, connection="close")
        received.peer.transport.close()

    async def steps() -> None:
        async with writing(close_after, connections=1) as (writer, server):
            for _ in range(3):
                (call,) = await send(writer, 1)
                assert (await call.outcome)[0] == 201
            assert len(server.peers) == 3

    run(steps())


def test_idle_connections_are_dropped_and_busy_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{WRITER}.MAX_IDLE_SECONDS", 0.02)
    held: list[Received] = []

    async def steps() -> None:
        async with writing(held.append, connections=2, sweep_seconds=0.005) as (writer, server):
            calls = await send(writer, 2)
            await until(lambda: len(held) == 2)
            idle, busy = held
            idle.peer.reply(201)
            await calls[int(idle.path[1:])].outcome
            await until(idle.peer.transport.is_closing)
            assert not busy.peer.transport.is_closing()
            busy.peer.reply(201)
            assert (await calls[int(busy.path[1:])].outcome)[0] == 201
            assert len(server.peers) == 2

    run(steps())


def test_a_full_queue_rejects_requests_and_keeps_the_queued_ones() -> None:
    held: list[Received] = []

    async def steps() -> None:
        async with writing(held.append, connections=1, max_queued=2) as (writer, server):
            first = (await send(writer, 1))[0]
            await until(lambda: len(held) == 1)
            queued = await send(writer, 2)
            (rejected,) = await send(writer, 1)
            error, sent = await rejected.outcome
            assert isinstance(error, ConnectionFailedError)
            assert (str(error), sent) == ("too many requests wait", False)
            server.answer = ok
            held[0].peer.reply(201)
            assert [(await call.outcome)[0] for call in (first, *queued)] == [201] * 3

    run(steps())


def test_a_writer_that_closes_aborts_its_connections() -> None:
    held: list[Received] = []

    async def steps() -> None:
        async with serving(held.append) as server:
            writer = Writer(server.connection(), connections=2)
            calls = await send(writer, 3)
            await until(lambda: len(held) == 2)
            writer.close()
            outcomes = [await call.outcome for call in calls]
            assert sorted(sent for _, sent in outcomes) == [False, True, True]
            await until(lambda: all(peer.transport.is_closing() for peer in server.peers))
            assert writer.outstanding == 0

    run(steps())
