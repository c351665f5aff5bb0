"""Calls that may block: methods of out-of-tree plugins, with a deadline, and extenders."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Any

from stowplan import logs
from stowplan.framework import Call, Failure
from stowplan.framework.extender import CallExtender
from stowplan.framework.safe_text import raised
from stowplan.runtime.out_of_tree.threads import OutOfTimeError, PluginThreads, ThreadCall

log = logs.get(__name__)

_STACK_TRACE_VERBOSITY = 5

MAX_STUCK_CALLS = 512


class TimedThreads:
    """Calls functions on threads, each with a deadline in seconds that counts from the start of the call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float, threads: PluginThreads | None = None) -> None:
        self._loop = loop
        self.deadline = deadline
        self._threads = threads or PluginThreads("plugin", max_stuck=MAX_STUCK_CALLS)

    def call(self, function: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """Answer with the function's result, or with a Failure if it takes too long. The function must not raise."""
        timer: asyncio.TimerHandle

        def returned(result: Any) -> None:
            timer.cancel()
            answer(result)

        def check() -> None:
            nonlocal timer
            left = self._time_left(started)
            if left > 0:
                timer = self._loop.call_later(left, check)
                return
            self._threads.abandon(started)
            if started.abandoned:  # Otherwise the result is on its way.
                answer(Failure(f"did not return within {self.deadline:g} s", "Timeout"))

        try:
            started = self._threads.start(function, returned, self._loop)
        except OutOfTimeError:
            answer(Failure(f"was not called: {self._threads.stuck} calls before it have not returned", "Timeout"))
            return
        timer = self._loop.call_later(self.deadline, check)

    def _time_left(self, call: ThreadCall) -> float:
        return self.deadline if call.begun_at is None else call.begun_at + self.deadline - monotonic()

    def close(self) -> None:
        self._threads.close()


class PluginCaller:
    """Runs plain functions on threads and coroutines on the event loop. `deadline` is in seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        self._loop = loop
        self._deadline = deadline
        self._threads = TimedThreads(loop, deadline)
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, call: Call, answer: Callable[[Any], None]) -> None:
        """Answer with the result of the function, or with a Failure if it raises or exceeds the deadline."""
        bare = getattr(call.function, "func", call.function)
        if inspect.iscoroutinefunction(bare):
            self._keep(self._run(call, call.function, answer))
        else:
            self._threads.call(partial(_result, call), partial(self._returned, call, answer))

    def call_extender(self, call: CallExtender, answer: Callable[[Any], None]) -> None:
        """Answer with the extender's reply; the extender's client has its own timeout."""
        self._keep(self._call_extender(call, answer))

    async def _call_extender(self, call: CallExtender, answer: Callable[[Any], None]) -> None:
        answer(await call.extender.call(call))

    def _returned(self, call: Call, answer: Callable[[Any], None], result: Any) -> None:
        if inspect.isawaitable(result):
            self._keep(self._run(call, lambda: result, answer))
        else:
            answer(result)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, call: Call, begin: Callable[[], Awaitable[Any]], answer: Callable[[Any], None]) -> None:
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                outcome = await begin()
        except BaseException as problem:  # Awaiting a cancelled task raises CancelledError.
            if self._closed:
                raise
            if limit.expired():
                outcome = Failure(f"did not return within {self._deadline:g} s", "Timeout")
            else:
                outcome = _raised(call, problem)
        answer(outcome)

    def close(self) -> None:
        """Cancel coroutines and end idle threads; running calls are abandoned."""
        self._closed = True
        self._threads.close()
        for task in self._running:
            task.cancel()


def _result(call: Call) -> Any:
    """Runs on a thread: the function's result, or a Failure for its exception."""
    try:
        return call.function()
    except BaseException as problem:
        return _raised(call, problem)


def _raised(call: Call, problem: BaseException) -> Failure:
    if log.verbosity >= _STACK_TRACE_VERBOSITY:
        trace = logs.stack_trace(problem)
        log.v(_STACK_TRACE_VERBOSITY, "Plugin failed", plugin=call.plugin, point=call.point, stacktrace=trace)
    return Failure(raised(problem))
