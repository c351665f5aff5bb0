"""Coroutines without an event loop: each awaited request is handed out, and its answer resumes the coroutine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from stowplan.engine.timers import Timers
from stowplan.framework import CancelledError, Request, Sleep, Together
from stowplan.runtime.points.waiting_pods import PermitVerdict

Steps = Coroutine[Request, Any, Any]
OnEnd = Callable[[Any], None]


def _nothing(result: Any) -> None:
    return None


class Task:
    """A running coroutine."""

    __slots__ = ("_on_end", "_request", "_steps", "_tasks")

    def __init__(self, tasks: Tasks, steps: Steps, on_end: OnEnd) -> None:
        self._tasks = tasks
        self._steps = steps
        self._on_end = on_end
        self._request: Request | None = None
        """The awaited request; answers to any other are ignored."""

    @property
    def waits(self) -> bool:
        """Whether it awaits a request, that is, has started and not ended."""
        return self._request is not None

    def cancel(self, cause: str) -> bool:
        """Raise a CancelledError in the coroutine where it waits; False if it has ended.

        If it awaits `Together`, the coroutines run together are cancelled instead, and it continues with their results.
        """
        request = self._request
        if isinstance(request, Together):
            self._tasks.cancel_together(request, cause)
        elif request is not None:
            self._request = None
            self._advance(lambda: self._steps.throw(CancelledError(cause)))
        return request is not None

    def start(self) -> Task:
        self._advance(lambda: self._steps.send(None))
        return self

    def drop(self) -> None:
        """Close the coroutine without starting it."""
        self._steps.close()
        self._on_end(None)

    def _advance(self, step: Callable[[], Request]) -> None:
        try:
            request = step()
        except StopIteration as end:
            self._on_end(end.value)
            return
        self._request = request
        request.on_answer = lambda answer: self._resume(request, answer)
        self._tasks.hand_out(request)

    def _resume(self, request: Request, answer: Any) -> None:
        if self._request is request:
            self._request = None
            self._advance(lambda: self._steps.send(answer))


class Tasks:
    """Starts tasks and answers Sleep, Together and PermitVerdict; all other requests go to the outbox."""

    def __init__(self, timers: Timers, send: Callable[[Request], None]) -> None:
        self._timers = timers
        self._send = send
        self._together: dict[Together, dict[int, Task]] = {}
        """Running tasks by position, for each Together."""

    def start(self, steps: Steps, on_end: OnEnd = _nothing) -> Task:
        return Task(self, steps, on_end).start()

    def hand_out(self, request: Request) -> None:
        if isinstance(request, Sleep):
            self._timers.after(request.seconds, lambda: request.on_answer(None))
        elif isinstance(request, Together):
            self._run_together(request)
        elif isinstance(request, PermitVerdict):
            request.waiting.when_settled(request.on_answer)
        else:
            self._send(request)

    def cancel_together(self, request: Together, cause: str) -> None:
        for task in list(self._together[request].values()):
            task.cancel(cause)

    def _run_together(self, request: Together) -> None:
        results: list[Any] = [None] * len(request.coroutines)
        failed = False

        def ended(position: int, result: Any) -> None:
            nonlocal failed
            del running[position]
            if not failed:
                results[position] = result
                failed = request.failed(result)
                if failed:
                    self.cancel_together(request, request.cause)
            if not running:
                finish()

        def finish() -> None:
            if self._together.pop(request, None) is not None:
                request.on_answer(results)

        tasks = [Task(self, steps, partial(ended, position)) for position, steps in enumerate(request.coroutines)]
        running = self._together[request] = dict(enumerate(tasks))
        for task in tasks:
            if failed:
                task.drop()
            else:
                task.start()
        if not tasks:
            finish()
