"""The scheduling loop: watch events in, scheduling cycles in slices of a few milliseconds, instructions out.

Upstream: pkg/scheduler/scheduler.go (Run)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from math import inf
from time import monotonic, thread_time
from typing import Any, Protocol

from stowplan import logs
from stowplan.api.kinds import Kind
from stowplan.api.text_cache import clear_text_caches
from stowplan.cluster.reflector import REQUIRED_KINDS
from stowplan.engine import Engine
from stowplan.framework import Call, Failure, Instruction, Request
from stowplan.framework.extender import CallExtender
from stowplan.queue import CHARGED_ATTEMPT_SECONDS
from stowplan.runtime.gc_tuning import IdleCollector, trim_heap
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.plugin_calls import PluginCaller

log = logs.get(__name__)

SLICE_SECONDS = 0.004
"""Time that cycles may run before the event loop handles its sockets."""

CPU_CLOCK_SECONDS = 0.05
"""Interval of readings of the CPU clock: a system call, on which the kernel may schedule another thread."""

POLL_SECONDS = 0.02
"""Interval of checks for conditions without a notification."""

MAX_WAITING_WRITES = 32
"""Writes that may wait for a connection before scheduling pauses: later decisions use newer information. Enough for
connections that become free together to have a write to send before the next cycle."""


class Executor(Protocol):
    """Carries out instructions."""

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a connection."""

    def execute(self, instruction: Instruction, answer: Callable[[Any, Any], None]) -> None:
        """Start an instruction. The outcome of a request is passed to `answer(request, outcome)`, usually later."""


class SchedulingLoop:
    """Runs an engine on an event loop. Also the sink of the reflectors."""

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
        answers: Answers | None = None,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        """`cpu_clock` returns the CPU time of this thread."""
        self._engine = engine
        self._cpu_clock = cpu_clock
        self._cpu_read = (0.0, -inf)
        """A recent reading of the CPU clock, and its time."""
        self._was_costly = False
        """Whether the last attempt of the last full slice was costly: then the next one may be too."""
        self._executor = executor
        self._caller = caller
        self._loop = loop
        self._clock = clock
        self._may_schedule = may_schedule
        self._on_ready = on_ready
        """Called once, when all kinds are synced."""
        self._on_batch = on_batch
        """Receives the seconds that a batch of watch events took."""
        self._answers = answers
        """Questions, answered between scheduling cycles."""
        self._collector = IdleCollector(self._free_unused)
        self._unsynced = set(kinds)
        self._wake = asyncio.Event()
        self._stopping = False
        self._problem: BaseException | None = None
        self._thread = threading.get_ident()
        engine.marshal_through(self.defer)

    @property
    def ready(self) -> bool:
        """Whether all kinds are synced."""
        return not self._unsynced

    # Sink of the reflectors
    def put(self, kind: Kind, items: Iterable[tuple[Any, Any]]) -> None:
        put, began = self._engine.put, monotonic()
        for item, whole in items:
            try:
                put(item, whole)
            except Exception as error:
                _log_unhandled(kind, item, error)
        self._batch_handled(began)

    def removed(self, kind: Kind, items: Iterable[Any]) -> None:
        began = monotonic()
        for item in items:
            try:
                self._engine.remove(item)
            except Exception as error:
                _log_unhandled(kind, item, error)
        self._batch_handled(began)

    def _batch_handled(self, began: float) -> None:
        if self._on_batch is not None:
            self._on_batch(monotonic() - began)
        self._wake.set()

    def synced(self, kind: Kind) -> None:
        """All objects of a kind have been listed."""
        if kind.name in self._unsynced:
            self._unsynced.discard(kind.name)
            if not self._unsynced:
                self._on_ready()
        else:
            trim_heap()
        self._wake.set()

    def _free_unused(self) -> None:
        self._engine.free_unused()
        clear_text_caches()

    def missing(self, kind: Kind) -> None:
        """The API server does not have the kind; it counts as synced."""
        self.synced(kind)

    def forbidden(self, kind: Kind, verb: str) -> None:
        """The kind may not be read. Unless it is required, pods are scheduled without it."""
        if kind.name not in REQUIRED_KINDS:
            self.synced(kind)

    # Running
    async def run(self) -> None:
        """Schedule until `stop`. An exception is a bug, after which the process must be restarted."""
        while not self._stopping:
            self._wake.clear()
            more = self._work()
            if self._answers is not None and self._answers.waiting and not self._unsynced:
                more |= self._answers.run_slice(busy=more)
            self._collector.run(idle=not more)
            if more:
                await asyncio.sleep(0)
            else:
                await self._wait()
        if self._problem is not None:
            raise self._problem

    async def finish(self, seconds: float) -> None:
        """Wait for bindings under way, at most this long. No new one starts."""
        engine = self._engine
        deadline = self._loop.time() + seconds
        self._flush()
        while len(engine.attempts) > len(engine.waiting_pods) and self._loop.time() < deadline:
            await asyncio.sleep(POLL_SECONDS)
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
        """Run an action on the loop's thread: at once if called there, else as soon as possible."""
        if threading.get_ident() == self._thread:
            action()
        else:
            self._loop.call_soon_threadsafe(self._do, action)

    def _do(self, action: Callable[[], None]) -> None:
        action()
        self._wake.set()

    def _work(self) -> bool:
        """Run one slice of cycles; whether there may be more to do."""
        engine = self._engine
        engine.tick()
        more = False
        if not self._unsynced and self._may_schedule():
            began = ended = monotonic()
            until = ended + SLICE_SECONDS
            if self._was_costly or ended - self._cpu_read[1] > CPU_CLOCK_SECONDS:
                self._cpu_read = self._cpu_clock(), ended
            engine.hold_time()
            for _ in range(MAX_WAITING_WRITES - self._executor.waiting):
                began = ended
                more = engine.schedule_one()
                if not more or (ended := monotonic()) >= until:
                    break
            engine.release_time()
            if more:
                # A costly attempt is the last one of its slice, since it takes longer than a slice.
                self._was_costly = ended - began >= CHARGED_ATTEMPT_SECONDS
                if self._was_costly:
                    engine.charge(min(ended - began, self._cpu_seconds(began, ended)))
        self._flush()
        return more and self._executor.waiting < MAX_WAITING_WRITES

    def _cpu_seconds(self, began: float, ended: float) -> float:
        """The least CPU time of an attempt that the readings of the clock prove.

        Time that the thread waited for the processor is not counted. Time that it was idle between the last reading
        and the attempt is deducted: an idle loop delays no other pod.
        """
        cpu, read = self._cpu_read
        self._cpu_read = self._cpu_clock(), ended
        return self._cpu_read[0] - cpu - (began - read)

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
            # In a callback of the event loop the exception would only be logged, and the pod would be lost.
            self.stop(bug)
        self._wake.set()

    async def _wait(self) -> None:
        """Wait for a wake-up, the engine's next deadline or the next garbage collection."""
        pause = self._collector.seconds_left()
        # Timers do not run while a cycle is suspended.
        deadline = None if self._engine.suspended else self._engine.next_deadline()
        if deadline is not None:
            pause = min(pause, max(0.0, deadline - self._clock()))
        if self._executor.waiting >= MAX_WAITING_WRITES:
            pause = min(pause, POLL_SECONDS)  # Status patches have no answer that would wake the loop.
        timer = self._loop.call_later(pause, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()


def _log_unhandled(kind: Kind, item: Any, error: Exception) -> None:
    """An object that cannot be handled must not block all others."""
    meta = item.metadata
    log.exception(
        error, "Failed to handle object", kind=kind.name, object=logs.ObjectRef(meta.namespace, str(meta.name))
    )
