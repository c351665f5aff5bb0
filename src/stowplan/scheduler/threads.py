"""Threads for functions that nobody can be sure will return."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import Any

from stowplan.framework import Failure

THREADS = 64
"""So many functions may run at a time, without those that are given up."""
MOST_STUCK = 512
"""With so many that never returned, no more are called: they would take all memory in the end."""


class _Job:
    """A function that is to be called, and who wants to know its result."""

    __slots__ = ("answer", "begun_at", "function", "given_up", "timer")

    def __init__(self, function: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        self.function = function
        self.answer = answer
        self.begun_at: float | None = None
        self.given_up = False
        self.timer: asyncio.TimerHandle | None = None


class PluginThreads:
    """Calls functions on threads and brings the results back to the loop's. `deadline` is in seconds.

    A function that has not returned by then is given up, and so is its thread. None of the threads keeps the process
    from ending.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        self._loop = loop
        self._deadline = deadline
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._unanswered = 0
        self._working = 0
        """Threads without those that are stuck."""
        self._stuck = 0

    def call(self, function: Callable[[], Any], answer: Callable[[Any], None]) -> None:
        """Answer with what the function returns, which must not raise, or with a Failure if it takes too long."""
        if self._stuck >= MOST_STUCK:
            answer(Failure(f"was not called: {self._stuck} calls before it have not returned", "Timeout"))
            return
        job = _Job(function, answer)
        self._unanswered += 1
        self._jobs.put(job)
        self._start_thread()
        job.timer = self._loop.call_later(self._deadline, self._check, job)

    def close(self) -> None:
        """End the threads that have nothing to do; the others are left to themselves."""
        for _ in range(self._working):
            self._jobs.put(None)

    def _start_thread(self) -> None:
        """If there is something to do for another one."""
        if self._working < min(self._unanswered, THREADS):
            self._working += 1
            threading.Thread(target=self._work, name="plugin", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.begun_at = monotonic()
            result = job.function()
            try:
                self._loop.call_soon_threadsafe(self._returned, job, result)
            except RuntimeError:
                return  # The loop is closed.
            if job.given_up:
                return  # There is another thread in this one's place.

    # On the loop's thread
    def _returned(self, job: _Job, result: Any) -> None:
        if job.given_up:
            self._stuck -= 1
        else:
            self._end(job, result)

    def _check(self, job: _Job) -> None:
        """Time is up for a job, unless it had to wait for a thread."""
        left = self._deadline if job.begun_at is None else job.begun_at + self._deadline - monotonic()
        if left > 0:
            job.timer = self._loop.call_later(left, self._check, job)
            return
        job.given_up = True
        self._stuck += 1
        self._working -= 1
        self._end(job, Failure(f"did not return within {self._deadline:g} s", "Timeout"))
        self._start_thread()

    def _end(self, job: _Job, result: Any) -> None:
        if job.timer is not None:
            job.timer.cancel()
        self._unanswered -= 1
        job.answer(result)
