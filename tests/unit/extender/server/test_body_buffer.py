"""Memory for bodies, and clients that announce or send more than there is."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.unit.extender.server.fakes import Canned, Wire, connected, make_answering, reply, serving

from stowplan.extender.server.body_buffer import FIRST_STEP_BYTES, BodyBudget, BodyBuffer, OverBudgetError

LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
MIB = 1 << 20
PART_OF_A_BODY = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nabc"
WHOLE = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"


def fill(buffer: BodyBuffer, content: bytes) -> None:
    """Deliver a body as an event loop would, as much as fits at a time."""
    buffer.begin(len(content), content[:10])
    at = min(10, len(content))
    while not buffer.complete:
        room = buffer.room()
        count = min(len(room), len(content) - at)
        room[:count] = content[at : at + count]
        room.release()
        buffer.received(count)
        at += count


@pytest.mark.parametrize("size", [0, 1, 10, FIRST_STEP_BYTES, FIRST_STEP_BYTES + 1, 5 * MIB + 3])
def test_a_body_of_any_size(size: int) -> None:
    budget = BodyBudget(8 * MIB)
    buffer, content = BodyBuffer(budget), bytes(i % 251 for i in range(size))
    for _ in range(2):
        fill(buffer, content)
        assert buffer.take() == content
        assert budget.used_bytes == size
        buffer.finish()
    buffer.free()
    assert budget.used_bytes == 0


def test_memory_follows_the_bytes_received() -> None:
    budget = BodyBudget(100 * MIB)
    buffer = BodyBuffer(budget)
    buffer.begin(64 * MIB, b"x")
    assert budget.used_bytes == len(buffer.room()) + 1 == FIRST_STEP_BYTES
    while not buffer.complete:
        count = len(buffer.room())
        buffer.received(count)
        assert budget.used_bytes <= max(2 * buffer._filled, FIRST_STEP_BYTES)
    assert budget.used_bytes == 64 * MIB


def test_large_memory_is_used_again_unless_the_body_is_still_read() -> None:
    buffer = BodyBuffer(BodyBudget(100 * MIB))
    fill(buffer, b"a" * MIB)
    first = id(buffer.take())
    buffer.finish()
    fill(buffer, b"b" * (MIB + 10))
    held = buffer.take()
    assert id(held) == first
    buffer.finish()
    fill(buffer, b"c" * MIB)
    assert held == b"b" * (MIB + 10)
    assert buffer.take() == b"c" * MIB


def test_the_budget_is_for_all_and_reusable_memory_is_freed_first() -> None:
    budget = BodyBudget(4 * MIB)
    idle, busy, late = BodyBuffer(budget), BodyBuffer(budget), BodyBuffer(budget)
    fill(idle, b"a" * (2 * MIB))
    idle.finish()
    assert budget.used_bytes == 2 * MIB
    fill(busy, b"b" * (3 * MIB))
    assert budget.used_bytes == 3 * MIB
    with pytest.raises(OverBudgetError, match="4,194,304 bytes"):
        fill(late, b"c" * (2 * MIB))
    late.free()
    busy.finish()
    fill(late, b"c" * (2 * MIB))
    assert late.take() == b"c" * (2 * MIB)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def run(test: Any, loop: Callable[[], Any]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(test, 60))


@LOOPS
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_forty_heads_that_announce_much_cost_little(loop: Callable[[], Any]) -> None:
    async def test() -> None:
        options = {"largest_body": 64 * MIB, "max_total_bytes": 512 * MIB}
        async with serving(make_answering(), **options) as port, AsyncExitStack() as stack:
            before = resident_bytes()
            for _ in range(40):
                wire = await stack.enter_async_context(connected(port.port))
                await wire.send(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\nx")
            async with connected(port.port) as wire:
                assert (await wire.post("/filter", b"abc"))[0] == 200
            assert port.budget.used_bytes == 40 * FIRST_STEP_BYTES
            assert resident_bytes() - before < 100 * MIB

    run(test(), loop)


@LOOPS
@pytest.mark.parametrize("chunked", [False, True])
def test_requests_beyond_the_budget_are_refused_until_there_is_memory_again(
    chunked: bool, loop: Callable[[], Any]
) -> None:
    async def post(wire: Wire, content: bytes) -> int:
        if not chunked:
            return (await wire.post("/filter", content))[0]
        await wire.send(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        await wire.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))
        return (await wire.receive())[0]

    async def test() -> None:
        answering = make_answering()
        async with serving(answering, max_total_bytes=2 * MIB) as port:
            async with connected(port.port) as slow:
                await slow.send(
                    b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n" + b"x" * 1_000_000
                )
                while port.budget.used_bytes < MIB:
                    await asyncio.sleep(0.01)
                async with connected(port.port) as small, connected(port.port) as large:
                    assert await post(small, b"x" * 1000) == 200
                    port.budget.max_bytes = MIB + MIB // 2
                    assert await post(large, b"x" * (MIB - 1)) == 503
            while port.budget.used_bytes:
                await asyncio.sleep(0.01)
            async with connected(port.port) as large:
                assert await post(large, b"x" * (MIB - 1)) == 200
        assert b'refused_requests_total{cause="over_budget"} 1' in answering.metrics.registry.expose()

    run(test(), loop)


@LOOPS
def test_connections_without_a_request_are_closed_for_new_ones(loop: Callable[[], Any]) -> None:
    async def test() -> None:
        answering = make_answering()
        async with (
            serving(answering, max_connections=3) as port,
            connected(port.port) as used,
            connected(port.port) as silent,
            connected(port.port) as slow,
        ):
            assert (await used.post("/filter", b"abc"))[0] == 200
            await slow.send(b"GET /healthz HTTP/1.1\r\n")
            await asyncio.sleep(0.05)
            async with connected(port.port) as third, connected(port.port) as fourth:
                assert (await third.get("/healthz"))[0] == 200
                assert (await fourth.get("/healthz"))[0] == 200
                assert await silent.at_end()
                assert await slow.at_end()
                assert (await used.post("/filter", b"abc"))[0] == 200

    run(test(), loop)


@LOOPS
def test_connections_beyond_the_maximum_are_closed_at_once_while_all_others_are_answered(
    loop: Callable[[], Any],
) -> None:
    go_on = asyncio.Event()

    async def answer(verb: Any, body: bytes) -> Any:
        await go_on.wait()
        return reply(verb, b"{}")

    async def test() -> None:
        answering = make_answering(Canned(answer))
        async with serving(answering, max_connections=2) as port:
            async with connected(port.port) as first, connected(port.port) as second:
                answers = [asyncio.create_task(wire.post("/filter", b"abc")) for wire in (first, second)]
                await asyncio.sleep(0.05)
                async with connected(port.port) as third:
                    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                        await third.post("/filter", b"abc")
                go_on.set()
                assert [(await each)[0] for each in answers] == [200, 200]
            await asyncio.sleep(0.05)
            async with connected(port.port) as later:
                assert (await later.post("/filter", b"abc"))[0] == 200
        assert b'refused_requests_total{cause="too_many_connections"} 1' in answering.metrics.registry.expose()

    run(test(), loop)


@LOOPS
@pytest.mark.parametrize("sent", [b"", PART_OF_A_BODY, WHOLE], ids=["idle", "slow", "answered"])
def test_connections_of_one_address_do_not_keep_another_address_out(sent: bytes, loop: Callable[[], Any]) -> None:
    async def test() -> None:
        async with serving(make_answering(), max_connections=16) as port, AsyncExitStack() as stack:
            scheduler = await stack.enter_async_context(connected(port.port))
            assert (await scheduler.post("/filter", b"abc"))[0] == 200
            for _ in range(40):
                hostile = await stack.enter_async_context(connected(port.port, local_addr=("127.0.0.2", 0)))
                await hostile.send(sent)
                await asyncio.sleep(0)
            assert (await scheduler.post("/filter", b"abc"))[0] == 200
            for _ in range(2):
                another = await stack.enter_async_context(connected(port.port))
                assert (await another.post("/filter", b"abc"))[0] == 200

    run(test(), loop)


@LOOPS
def test_connections_on_which_only_pages_were_read_are_closed_before_those_of_schedulers(
    loop: Callable[[], Any],
) -> None:
    async def test() -> None:
        async with serving(make_answering(), max_connections=3) as port, AsyncExitStack() as stack:
            scheduler = await stack.enter_async_context(connected(port.port))
            assert (await scheduler.post("/filter", b"abc"))[0] == 200
            for _ in range(5):
                other = await stack.enter_async_context(connected(port.port))
                assert (await other.get("/healthz"))[0] == 200
            assert (await scheduler.post("/filter", b"abc"))[0] == 200

    run(test(), loop)


@LOOPS
def test_refused_requests_do_not_fill_the_log(loop: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with serving(make_answering()) as port, connected(port.port) as wire:
            for _ in range(50):
                assert (await wire.post("/nowhere", b"abc"))[0] == 404
            assert (await wire.post("/filter", b"x" * 2 * MIB))[0] == 413

    run(test(), loop)
    assert caplog.text.count("A request was refused") == 2, "One line for each cause."
