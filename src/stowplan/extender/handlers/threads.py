"""Threads for work that may never end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from stowplan.extender.handlers.exclusive import OutOfTimeError

T = TypeVar("T")

MOST = 64
"""With so many threads that do not come back, no more are started: they would take all memory in the end."""

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class VerbThreads:
    """Runs functions beside the event loop. One that takes too long is left behind, and its thread with it; none keeps
    the process from ending."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    async def call(self, function: Callable[[], T], seconds: float | None) -> T:
        """What the function returns or raises; OutOfTimeError if it takes longer, which it may go on to do."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._hire()
        self._jobs.put((function, loop, future))
        timer = None if seconds is None else loop.call_later(max(0.0, seconds), _give_up, future, seconds)
        try:
            return await future
        finally:
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """End the threads that have nothing to do."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _hire(self) -> None:
        if self._idle.acquire(blocking=False):
            return
        if self._started >= self._most:
            raise OutOfTimeError(f"{self._started} calls before this one have not returned")
        self._started += 1
        threading.Thread(target=self._work, name="extender", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._do(*job):
                return
            # What it was about may be large, and the next one may be long in coming.
            del job

    def _do(self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> bool:
        """Whether there is still somebody to work for."""
        try:
            done: Callable[[], None] = _Done(future, function())
        except BaseException as problem:
            done = _Done(future, None, problem)
        self._idle.release()
        try:
            loop.call_soon_threadsafe(done)
        except RuntimeError:
            return False  # The loop is closed.
        return True


class _Done:
    """Brings a result home, unless nobody waits for it any longer."""

    __slots__ = ("_future", "_problem", "_result")

    def __init__(self, future: asyncio.Future[Any], result: Any, problem: BaseException | None = None) -> None:
        self._future = future
        self._result = result
        self._problem = problem

    def __call__(self) -> None:
        if self._future.done():
            return
        if self._problem is None:
            self._future.set_result(self._result)
        else:
            self._future.set_exception(self._problem)


def _give_up(future: asyncio.Future[Any], seconds: float) -> None:
    if not future.done():
        future.set_exception(OutOfTimeError(f"no answer within {seconds:.3g} s"))
