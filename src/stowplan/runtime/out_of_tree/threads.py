"""Daemon threads for plugin calls that may never return."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar

from stowplan.errors import StowplanError
from stowplan.framework.safe_text import raised

T = TypeVar("T")

MAX_RUNNING_CALLS = 64
"""Calls that run at the same time, not counting abandoned ones; further calls wait for a thread."""


class OutOfTimeError(StowplanError):
    """A call was abandoned at its deadline, or not made because too many others were."""


class ThreadCall:
    """A function to be called on a thread."""

    __slots__ = ("abandoned", "begun_at", "function", "loop", "on_return", "returned")

    def __init__(
        self, function: Callable[[], Any], on_return: Callable[[Any], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.function = function
        self.on_return = on_return
        self.loop = loop
        self.begun_at: float | None = None
        """When a thread started the call, by the monotonic clock."""
        self.returned = False
        self.abandoned = False


class PluginThreads:
    """Calls functions on threads and delivers results on the caller's event loop.

    An abandoned call keeps its thread until it returns; another thread takes its place. Beyond `max_stuck` abandoned
    calls no more are made, since each costs memory. No thread keeps the process from ending.
    """

    def __init__(self, name: str, max_running: int = MAX_RUNNING_CALLS, *, max_stuck: int) -> None:
        self._name = name
        self._max_running = max_running
        self._max_stuck = max_stuck
        self._queue: SimpleQueue[ThreadCall | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._open_calls = 0
        """Calls that have neither returned nor been abandoned."""
        self._threads = 0
        """Threads, without those of abandoned calls."""
        self.stuck = 0
        """Abandoned calls that have not returned."""

    def start(
        self, function: Callable[[], Any], on_return: Callable[[Any], None], loop: asyncio.AbstractEventLoop
    ) -> ThreadCall:
        """Call a function, which must not raise, and pass its result to `on_return` on the loop, unless the call is
        abandoned before. Raises OutOfTimeError if too many calls are stuck."""
        call = ThreadCall(function, on_return, loop)
        with self._lock:
            if self.stuck >= self._max_stuck:
                raise OutOfTimeError(f"{self.stuck} calls before this one have not returned")
            self._open_calls += 1
            self._queue.put(call)
            self._add_thread()
        return call

    def abandon(self, call: ThreadCall) -> None:
        """Ignore the call's result. If it has not begun, it is not made."""
        with self._lock:
            if call.returned or call.abandoned:
                return
            call.abandoned = True
            self._open_calls -= 1
            if call.begun_at is not None:
                self.stuck += 1
                self._threads -= 1
                self._add_thread()

    async def call(self, function: Callable[[], T], seconds: float | None) -> T:
        """The function's result or exception; OutOfTimeError after so many seconds, the wait for a thread included.

        A call beyond the running ones waits: threads become free within a call's time limit, so that a burst of calls
        does not fail.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        call = self.start(partial(_outcome, function), partial(_settle, future), loop)
        timer = None if seconds is None else loop.call_later(max(0.0, seconds), _expire, future, call, seconds)
        try:
            return await future
        finally:
            self.abandon(call)
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """End the idle threads."""
        for _ in range(self._threads):
            self._queue.put(None)

    def _add_thread(self) -> None:
        if self._threads < min(self._open_calls, self._max_running):
            self._threads += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            if self._begin(call):
                result = call.function()
                replaced = self._end(call)
                try:
                    call.loop.call_soon_threadsafe(_deliver, call, result)
                except RuntimeError:
                    return  # The loop is closed.
                if replaced:
                    return
                del result  # It may be large, and the thread may stay idle for long.
            del call

    def _begin(self, call: ThreadCall) -> bool:
        with self._lock:
            if not call.abandoned:
                call.begun_at = monotonic()
            return not call.abandoned

    def _end(self, call: ThreadCall) -> bool:
        """Whether another thread has taken this one's place."""
        with self._lock:
            call.returned = True
            if call.abandoned:
                self.stuck -= 1
            else:
                self._open_calls -= 1
            return call.abandoned


def _deliver(call: ThreadCall, result: Any) -> None:
    if not call.abandoned:
        call.on_return(result)


def _outcome(function: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """SystemExit, KeyboardInterrupt and CancelledError of the function are errors like others: as such they would end
    the event loop or the caller's task."""
    try:
        return function(), None
    except Exception as error:
        return None, error
    except BaseException as problem:
        return None, RuntimeError(raised(problem))


def _settle(future: asyncio.Future[T], outcome: tuple[T, Exception | None]) -> None:
    result, error = outcome
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _expire(future: asyncio.Future[Any], call: ThreadCall, seconds: float) -> None:
    if not future.done():
        what = "no thread was free" if call.begun_at is None else "no answer"
        future.set_exception(OutOfTimeError(f"{what} within {seconds:.3g} s"))
