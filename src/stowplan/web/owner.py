"""The thread that owns the state: everything that reads the cluster runs there.

A live scheduler runs questions between scheduling cycles; other sources use a `ThreadOwner`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from time import monotonic
from typing import Any, Protocol, TypeVar

from stowplan.insight.slices import Slices
from stowplan.serving.insight_pages import NotReadyError, TooManyQuestionsError

T = TypeVar("T")

MAX_QUEUED_QUESTIONS = 16
_SLICE_SECONDS = 0.02
"""Time after which another question gets its turn."""


def unchanged() -> Hashable:
    """The revision of a question that never has to start again."""
    return None


class Owner(Protocol):
    """Runs questions on the thread that owns the state. The methods are called on the server's event loop."""

    async def answer(self, begin: Callable[[], Slices[T]], revision: Callable[[], Hashable] = unchanged) -> T:
        """Runs a question in slices; starts it again if its revision changes between slices."""
        ...

    async def read(self, function: Callable[[], T]) -> T:
        """Runs a function that takes less than 2 ms, before questions that wait."""
        ...


class _Job:
    __slots__ = ("future", "slices")

    def __init__(self, slices: Slices[Any]) -> None:
        self.slices = slices
        self.future: Future[Any] = Future()


class ThreadOwner:
    """A thread for a state that only questions use. Questions take turns, so that a long one does not delay others."""

    def __init__(self) -> None:
        self._jobs: deque[_Job] = deque()
        self._reads: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="state", daemon=True)
        self._thread.start()

    async def answer(self, begin: Callable[[], Slices[T]], revision: Callable[[], Hashable] = unchanged) -> T:
        if len(self._jobs) >= MAX_QUEUED_QUESTIONS:
            raise TooManyQuestionsError(f"{MAX_QUEUED_QUESTIONS} questions are waiting for an answer")
        result: T = await self._queued(self._jobs, _Job(_started(begin)))
        return result

    async def read(self, function: Callable[[], T]) -> T:
        result: T = await self._queued(self._reads, _Job(_once(function)))
        return result

    def close(self) -> None:
        """Fails all questions and ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    async def _queued(self, queue: deque[_Job], job: _Job) -> Any:
        with self._changed:
            if self._closed:
                raise NotReadyError("the server is shutting down")
            queue.append(job)
            self._changed.notify()
        return await asyncio.wrap_future(job.future)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._reads and not self._closed:
                    self._changed.wait()
                if self._closed:
                    break
                job = self._reads[0] if self._reads else self._jobs[0]
            done = job.future.cancelled() or _advance(job)
            with self._changed:
                if self._reads and self._reads[0] is job:
                    self._reads.popleft()
                else:
                    self._jobs.remove(job)
                    if not done:
                        self._jobs.append(job)
        for job in (*self._reads, *self._jobs):
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(NotReadyError("the server is shutting down"))


def _advance(job: _Job) -> bool:
    """Runs the question until its turn is over; whether it is done."""
    until = monotonic() + _SLICE_SECONDS
    try:
        while monotonic() < until:
            next(job.slices)
    except StopIteration as end:
        if job.future.set_running_or_notify_cancel():
            job.future.set_result(end.value)
        return True
    except Exception as problem:
        if job.future.set_running_or_notify_cancel():
            job.future.set_exception(problem)
        return True
    return False


def _started(begin: Callable[[], Slices[T]]) -> Slices[T]:
    """The question, started on the owner's thread."""
    return (yield from begin())


def _once(function: Callable[[], T]) -> Slices[T]:
    yield from ()
    return function()
