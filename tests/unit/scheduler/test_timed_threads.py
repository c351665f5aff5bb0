import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from tests.builders import until

from stowplan.framework import Failure
from stowplan.runtime.out_of_tree.threads import PluginThreads
from stowplan.scheduler.plugin_calls import TimedThreads


class Calls:
    """Functions that are called, and the answers."""

    def __init__(self, deadline: float, max_running: int = 64, max_stuck: int = 512) -> None:
        self.pool = PluginThreads("plugin", max_running, max_stuck=max_stuck)
        self.threads = TimedThreads(asyncio.get_running_loop(), deadline, self.pool)
        self.answers: list[Any] = []

    def call(self, function: Callable[[], Any], times: int = 1) -> None:
        for _ in range(times):
            self.threads.call(function, self.answers.append)

    async def first(self, count: int) -> list[Any]:
        await until(lambda: len(self.answers) >= count)
        return self.answers


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def test_threads_are_used_again() -> None:
    async def scene() -> None:
        calls = Calls(60.0)
        for done in range(20):
            calls.call(threading.get_ident)
            await calls.first(done + 1)
        assert len(set(calls.answers)) == 1
        calls.threads.close()

    run(scene)


def test_time_spent_waiting_for_a_thread_does_not_count() -> None:
    async def scene() -> None:
        calls, pause = Calls(1.0, max_running=1), threading.Event()
        calls.call(lambda: pause.wait(0.3), times=4)
        assert await calls.first(4) == [False] * 4
        calls.threads.close()

    run(scene)


def test_threads_that_are_stuck_are_replaced() -> None:
    async def scene() -> None:
        calls, never = Calls(0.4, max_running=2), threading.Event()
        calls.call(never.wait, times=3)
        calls.call(lambda: "done", times=5)
        answers = await calls.first(8)
        assert [answer for answer in answers if not isinstance(answer, Failure)] == ["done"] * 5
        never.set()
        calls.threads.close()

    run(scene)


def test_when_too_many_are_stuck_no_more_are_called() -> None:
    async def scene() -> None:
        calls, never = Calls(0.05, max_stuck=2), threading.Event()
        calls.call(never.wait, times=2)
        await calls.first(2)
        calls.call(lambda: "called")
        assert calls.answers[2].message == "was not called: 2 calls before it have not returned"
        never.set()
        async with asyncio.timeout(60):
            while calls.pool.stuck:
                await asyncio.sleep(0.001)
        calls.threads.deadline = 60.0
        calls.call(lambda: "called")
        assert (await calls.first(4))[3] == "called"
        calls.threads.close()

    run(scene)


def test_a_function_that_never_returns_does_not_keep_the_process() -> None:
    program = """
import asyncio, threading
from stowplan.scheduler.plugin_calls import TimedThreads

async def main():
    TimedThreads(asyncio.get_running_loop(), 60).call(threading.Event().wait, print)
    await asyncio.sleep(0.1)

asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0
