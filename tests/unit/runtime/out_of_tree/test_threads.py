"""Work beside the event loop, and what becomes of work that does not end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from stowplan.runtime.out_of_tree.threads import OutOfTimeError, PluginThreads


def test_results_and_errors_come_back() -> None:
    async def scene() -> None:
        threads = PluginThreads("extender", max_stuck=64)
        assert await threads.call(lambda: threading.current_thread().name, 60) == "extender"
        with pytest.raises(ZeroDivisionError):
            await threads.call(lambda: 1 // 0, None)
        threads.close()

    asyncio.run(scene())


def test_threads_are_used_again() -> None:
    async def scene() -> None:
        threads = PluginThreads("extender", max_stuck=64)
        found = set()
        for _ in range(20):
            found.add(await threads.call(threading.get_ident, 60))
        assert len(found) == 1

    asyncio.run(scene())


def test_what_does_not_return_is_left_behind_until_it_is_too_much() -> None:
    let_go = threading.Event()

    async def scene() -> None:
        threads = PluginThreads("extender", max_stuck=2)
        for _ in range(2):
            with pytest.raises(OutOfTimeError, match="no answer within"):
                await threads.call(let_go.wait, 0.01)
        with pytest.raises(OutOfTimeError, match="2 calls before this one"):
            await threads.call(lambda: 1, 60)
        let_go.set()
        async with asyncio.timeout(60):
            while threads.stuck:
                await asyncio.sleep(0.01)
        assert await threads.call(lambda: 1, 60) == 1

    asyncio.run(scene())


def test_more_calls_than_threads_wait_for_their_turn() -> None:
    async def main() -> list[int]:
        threads = PluginThreads("test", 2, max_stuck=1)
        return await asyncio.gather(*(threads.call(lambda i=i: time.sleep(0.02) or i, 5.0) for i in range(20)))

    assert asyncio.run(main()) == list(range(20))


def test_a_call_that_waits_for_a_thread_at_its_deadline_is_not_made() -> None:
    let_go, called = threading.Event(), threading.Event()

    async def scene() -> None:
        threads = PluginThreads("extender", 1, max_stuck=64)
        busy = asyncio.create_task(threads.call(let_go.wait, 60))
        await asyncio.sleep(0)
        with pytest.raises(OutOfTimeError, match="no thread was free within"):
            await threads.call(called.set, 0.01)
        assert threads.stuck == 0
        let_go.set()
        assert await busy
        assert await threads.call(called.is_set, 60) is False

    asyncio.run(scene())


@pytest.mark.parametrize("problem", [SystemExit(3), KeyboardInterrupt("mine")], ids=type)
def test_no_function_ends_the_event_loop(problem: BaseException) -> None:
    def end() -> None:
        raise problem

    async def scene() -> str:
        threads = PluginThreads("extender", max_stuck=64)
        with pytest.raises(Exception, match=f"raised {type(problem).__name__}: {problem}"):
            await threads.call(end, 60)
        threads.close()
        return "ended by itself"

    assert asyncio.run(scene()) == "ended by itself"
