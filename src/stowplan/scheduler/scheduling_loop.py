"""The loop: news of the cluster in, cycles back to back for a few milliseconds, instructions out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Protocol

from stowplan import logs
from stowplan.api.kinds import Kind
from stowplan.cluster.reflector import REQUIRED_KINDS
from stowplan.engine import Engine
from stowplan.framework import Call, Failure, Instruction, Request
from stowplan.framework.extender import CallExtender
from stowplan.scheduler.plugin_calls import PluginCaller

log = logs.get(__name__)

SLICE = 0.004
"""Seconds that cycles may run before the loop looks at its sockets again."""

LOOK_AGAIN = 0.02
"""Seconds until the next look at something that nobody tells of."""

MOST_WAITING = 32
"""Writes that may wait for a connection before scheduling pauses: what is decided later is decided better. So many
that connections which become free at a time have something to send before the next cycle."""


class Executor(Protocol):
    """Whoever carries out instructions."""

    @property
    def waiting(self) -> int:
        """Requests that wait for a connection."""

    def execute(self, instruction: Instruction, answer: Callable[[Any, Any], None]) -> None:
        """Begin to do it. A request is answered by `answer(request, outcome)`, mostly later."""


class SchedulingLoop:
    """Runs an engine on an event loop. It is also the sink of the feeds."""

    def __init__(
        self,
        engine: Engine,
        executor: Executor,
        caller: PluginCaller,
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
        self._problem: BaseException | None = None
        self._thread = threading.get_ident()
        engine.marshal_through(self.defer)

    @property
    def ready(self) -> bool:
        """Whether all that is there has been told."""
        return not self._unsynced

    # The feeds' sink
    def put(self, kind: Kind, items: Iterable[tuple[Any, Any]]) -> None:
        put, began = self._engine.put, monotonic()
        for item, whole in items:
            try:
                put(item, whole)
            except Exception as error:
                _not_taken_in(kind, item, error)
        self._taken_in(began)

    def removed(self, kind: Kind, items: Iterable[Any]) -> None:
        began = monotonic()
        for item in items:
            try:
                self._engine.remove(item)
            except Exception as error:
                _not_taken_in(kind, item, error)
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
        if kind.name not in REQUIRED_KINDS:
            self.synced(kind)

    # Running
    async def run(self) -> None:
        """Schedule until `stop`. What is raised is a bug, after which a new process had better start from scratch."""
        while not self._stopping:
            self._wake.clear()
            if self._work():
                await asyncio.sleep(0)
            else:
                await self._wait()
        if self._problem is not None:
            raise self._problem

    async def finish(self, seconds: float) -> None:
        """Let bindings that are under way come to their end, within so many seconds. None is begun."""
        engine = self._engine
        deadline = self._loop.time() + seconds
        self._flush()
        while len(engine.attempts) > len(engine.waiting_pods) and self._loop.time() < deadline:
            await asyncio.sleep(LOOK_AGAIN)
            self._flush()

    def stop(self, problem: BaseException | None = None) -> None:
        self._stopping = True
        self._problem = self._problem or problem
        self._wake.set()

    def wake(self) -> None:
        self._wake.set()

    def wake_from_thread(self) -> None:
        """Wake the loop from any thread."""
        self._loop.call_soon_threadsafe(self._wake.set)

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
            for _ in range(MOST_WAITING - self._executor.waiting):
                more = engine.schedule_one()
                if not more or monotonic() >= until:
                    break
        self._flush()
        return more and self._executor.waiting < MOST_WAITING

    def _flush(self) -> None:
        while instructions := self._engine.take():
            for instruction in instructions:
                if isinstance(instruction, Call):
                    self._caller.start(instruction, partial(self._answer, instruction))
                elif isinstance(instruction, CallExtender):
                    self._call_extender(instruction)
                else:
                    self._executor.execute(instruction, self._answer)

    def _call_extender(self, request: CallExtender) -> None:
        if request.verb == "bind" and not self._may_schedule():
            self._answer(request, Failure("another scheduler leads now"))
        else:
            self._caller.call_extender(request, partial(self._answer, request))

    def _answer(self, request: Request, outcome: Any) -> None:
        try:
            self._engine.answer(request, outcome)
        except Exception as bug:
            # It happens in a callback of the event loop, which would only tell of it, and the pod would be lost.
            self.stop(bug)
        self._wake.set()

    async def _wait(self) -> None:
        """Until something happens, or a timer of the engine is due."""
        # Timers do not run while a cycle waits for an extender.
        deadline = None if self._engine.suspended else self._engine.next_deadline()
        pause = inf if deadline is None else max(0.0, deadline - self._clock())
        if self._executor.waiting >= MOST_WAITING:
            pause = min(pause, LOOK_AGAIN)  # Not all that is written is answered.
        if pause < inf:
            self._timer = self._loop.call_later(pause, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


def _not_taken_in(kind: Kind, item: Any, error: Exception) -> None:
    """One object must not keep us from hearing of all others."""
    meta = item.metadata
    log.exception(
        error, "Failed to handle object", kind=kind.name, object=logs.ObjectRef(meta.namespace, str(meta.name))
    )
