"""Driving coroutines without an event loop: what they await is handed out, and they go on when it is answered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from stowplan.engine.timers import Timers
from stowplan.framework import CancelledError, Request, Sleep, Together
from stowplan.runtime.waiting import Verdict

Steps = Coroutine[Request, Any, Any]
OnEnd = Callable[[Any], None]


def _nothing(result: Any) -> None:
    return None


class Task:
    """One coroutine on its way."""

    __slots__ = ("_on_end", "_request", "_steps", "_tasks")

    def __init__(self, tasks: Tasks, steps: Steps, on_end: OnEnd) -> None:
        self._tasks = tasks
        self._steps = steps
        self._on_end = on_end
        self._request: Request | None = None
        """What it waits for; answers to anything else come too late."""

    def cancel(self, cause: str) -> None:
        """Wake it with a CancelledError wherever it waits; nothing happens if it has ended."""
        if self._request is not None:
            self._request = None
            self._advance(lambda: self._steps.throw(CancelledError(cause)))

    def start(self) -> Task:
        self._advance(lambda: self._steps.send(None))
        return self

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
    """Starts tasks and sees to what they wait for: time, each other, a verdict; all else goes outside."""

    def __init__(self, timers: Timers, outside: Callable[[Request], None]) -> None:
        self._timers = timers
        self._outside = outside

    def start(self, steps: Steps, on_end: OnEnd = _nothing) -> Task:
        return Task(self, steps, on_end).start()

    def hand_out(self, request: Request) -> None:
        if isinstance(request, Sleep):
            self._timers.after(request.seconds, lambda: request.on_answer(None))
        elif isinstance(request, Together):
            self._run_together(request)
        elif isinstance(request, Verdict):
            request.waiting.when_settled(request.on_answer)
        else:
            self._outside(request)

    def _run_together(self, request: Together) -> None:
        results: list[Any] = [None] * len(request.coroutines)
        running = dict.fromkeys(range(len(results)))
        tasks: list[Task] = []

        def has_failed() -> bool:
            return any(map(request.failed, results))

        def ended(index: int, result: Any) -> None:
            del running[index]
            if not has_failed():
                results[index] = result
                if request.failed(result):
                    for other in [tasks[i] for i in running if i < len(tasks)]:
                        other.cancel(request.cause)
            if not running:
                request.on_answer(results)

        for index, steps in enumerate(request.coroutines):
            tasks.append(Task(self, steps, partial(ended, index)))
            tasks[index].start()
            if has_failed():
                tasks[index].cancel(request.cause)
