"""Calling what may take its time: users' methods, off the loop and with a deadline, and extenders."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from stowplan import logs
from stowplan.framework import Call, Failure
from stowplan.framework.extender import CallExtender
from stowplan.framework.safe_text import raised
from stowplan.scheduler.threads import PluginThreads

log = logs.get(__name__)

_STACK_TRACE_VERBOSITY = 5


class PluginCaller:
    """Runs plain functions on threads and coroutines on the loop. `deadline` is in seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        self._loop = loop
        self._deadline = deadline
        self._threads = PluginThreads(loop, deadline)
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, call: Call, answer: Callable[[Any], None]) -> None:
        """Answer with what the function returns, or with a Failure that says what went wrong."""
        bare = getattr(call.function, "func", call.function)
        if inspect.iscoroutinefunction(bare):
            self._keep(self._run(call, call.function, answer))
        else:
            self._threads.call(partial(_result, call), partial(self._returned, call, answer))

    def ask(self, call: CallExtender, answer: Callable[[Any], None]) -> None:
        """Answer with what the extender says, which has deadlines of its own."""
        self._keep(self._ask(call, answer))

    async def _ask(self, call: CallExtender, answer: Callable[[Any], None]) -> None:
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
        except BaseException as problem:  # Whoever awaits a task that was cancelled raises a CancelledError.
            if self._closed:
                raise
            if limit.expired():
                outcome = Failure(f"did not return within {self._deadline:g} s", "Timeout")
            else:
                outcome = _raised(call, problem)
        answer(outcome)

    def close(self) -> None:
        """Whatever still runs is left to itself."""
        self._closed = True
        self._threads.close()
        for task in self._running:
            task.cancel()


def _result(call: Call) -> Any:
    """On a thread: what a function returns, or what it raised as a Failure."""
    try:
        return call.function()
    except BaseException as problem:
        return _raised(call, problem)


def _raised(call: Call, problem: BaseException) -> Failure:
    if log.verbosity >= _STACK_TRACE_VERBOSITY:
        trace = logs.stack_trace(problem)
        log.v(_STACK_TRACE_VERBOSITY, "Plugin failed", plugin=call.plugin, point=call.point, stacktrace=trace)
    return Failure(raised(problem))
