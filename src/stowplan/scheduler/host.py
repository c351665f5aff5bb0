"""The loop: news of the cluster in, cycles back to back for a few milliseconds, instructions out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from time import monotonic
from typing import Any, Protocol

from stowplan.api.kinds import Kind
from stowplan.engine import Engine
from stowplan.framework import Call, Instruction, Request
from stowplan.scheduler.calls import Caller

SLICE = 0.004
"""Seconds that cycles may run before the loop looks at its sockets again."""

_INDISPENSABLE = ("Node", "Pod")
"""Without these nothing can be scheduled right, so nothing is."""

MOST_WAITING = 2000
"""Writes that may wait for a connection before scheduling pauses: what is decided later is decided better."""


class Executor(Protocol):
    """Whoever carries out instructions."""

    @property
    def waiting(self) -> int:
        """Requests that wait for a connection."""

    def execute(self, instruction: Instruction, answer: Callable[[Any, Any], None]) -> None:
        """Begin to do it. A request is answered by `answer(request, outcome)`, mostly later."""


class Host:
    """Runs an engine on an event loop. It is also the sink of the feeds."""

    def __init__(
        self,
        engine: Engine,
        executor: Executor,
        caller: Caller,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float],
        *,
        kinds: Collection[str],
        may_schedule: Callable[[], bool] = lambda: True,
        on_ready: Callable[[], None] = lambda: None,
        on_batch: Callable[[float], None] | None = None,
    ) -> None:
        self._engine = engine
        self._executor = executor
        self._caller = caller
        self._loop = loop
        self._clock = clock
        self._may_schedule = may_schedule
        self._on_ready = on_ready
        """Called once, when all that is there has been told."""
        self._on_batch = on_batch
        """Told of the seconds that it took to take in news."""
        self._unsynced = set(kinds)
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self._thread = threading.get_ident()
        engine.core.marshal = self.defer

    @property
    def ready(self) -> bool:
        """Whether all that is there has been told."""
        return not self._unsynced

    # The feeds' sink
    def put(self, kind: Kind, items: Iterable[tuple[Any, Any]]) -> None:
        put, began = self._engine.put, monotonic()
        for item, whole in items:
            put(item, whole)
        self._taken_in(began)

    def removed(self, kind: Kind, items: Iterable[Any]) -> None:
        began = monotonic()
        for item in items:
            self._engine.remove(item)
        self._taken_in(began)

    def _taken_in(self, began: float) -> None:
        if self._on_batch is not None:
            self._on_batch(monotonic() - began)
        self._wake.set()

    def synced(self, kind: Kind) -> None:
        """All objects of a kind have been told of."""
        if kind.name in self._unsynced:
            self._unsynced.discard(kind.name)
            if not self._unsynced:
                self._on_ready()
        self._wake.set()

    def missing(self, kind: Kind) -> None:
        """The server has no such kind: there is nothing to wait for."""
        self.synced(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """Objects of the kind may not be read. Pods that need none of them can be scheduled all the same."""
        if kind.name not in _INDISPENSABLE:
            self.synced(kind)

    # Running
    async def run(self) -> None:
        """Schedule until `stop`."""
        while not self._stopping:
            self._wake.clear()
            if self._work():
                await asyncio.sleep(0)
            else:
                await self._wait()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    def wake(self) -> None:
        self._wake.set()

    def defer(self, action: Callable[[], None]) -> None:
        """Do something where nothing else happens: at once on the loop's own thread, else as soon as it can."""
        if threading.get_ident() == self._thread:
            action()
        else:
            self._loop.call_soon_threadsafe(self._do, action)

    def _do(self, action: Callable[[], None]) -> None:
        action()
        self._wake.set()

    def _work(self) -> bool:
        """A slice of work; whether there may be more."""
        engine = self._engine
        engine.tick()
        more = False
        if not self._unsynced and self._may_schedule():
            until = monotonic() + SLICE
            while self._executor.waiting < MOST_WAITING and monotonic() < until:
                more = engine.schedule_one()
                if not more:
                    break
        self._flush()
        return more

    def _flush(self) -> None:
        while instructions := self._engine.take():
            for instruction in instructions:
                if isinstance(instruction, Call):
                    self._caller.start(instruction, partial(self._answer, instruction))
                else:
                    self._executor.execute(instruction, self._answer)

    def _answer(self, request: Request, outcome: Any) -> None:
        self._engine.answer(request, outcome)
        self._wake.set()

    async def _wait(self) -> None:
        """Until something happens, or a timer of the engine is due."""
        deadline = self._engine.next_deadline()
        if deadline is not None:
            self._timer = self._loop.call_later(max(0.0, deadline - self._clock()), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
