"""Calling users' methods that may block: off the loop, and with a deadline."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stowplan.framework import Call, Failure

log = logging.getLogger("stowplan.plugins")

THREADS = 64
"""A call that hangs keeps its thread for good; so many may do so before others have to wait."""


class Caller:
    """Runs plain functions on threads and coroutines on the loop. `deadline` is in seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        self._loop = loop
        self._deadline = deadline
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="plugin")
        self._running: set[asyncio.Task[None]] = set()

    def start(self, call: Call, answer: Callable[[Any], None]) -> None:
        """Answer with what the function returns, or with a Failure that says what went wrong."""
        task = self._loop.create_task(self._run(call, answer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, call: Call, answer: Callable[[Any], None]) -> None:
        try:
            result = await asyncio.wait_for(self._result(call.function), self._deadline)
        except TimeoutError:
            result = Failure(f"did not return within {self._deadline:g} s", "Timeout")
        except Exception as problem:
            log.debug('plugin "%s": %s', call.plugin, call.point, exc_info=True)
            result = Failure(f"raised {type(problem).__name__}: {problem}")
        answer(result)

    async def _result(self, function: Callable[[], Any]) -> Any:
        bare = getattr(function, "func", function)
        if inspect.iscoroutinefunction(bare):
            return await function()
        result = await self._loop.run_in_executor(self._threads, function)
        return await result if inspect.isawaitable(result) else result

    def close(self) -> None:
        """Whatever still runs is left to itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for task in self._running:
            task.cancel()
