"""The simulation: runs the engine on a simulated cluster in virtual time."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine import Engine, Observer
from stowplan.framework import Bind, Call, Failure, Instruction, Request
from stowplan.framework.extender import CallExtender, Extender
from stowplan.framework.safe_text import raised
from stowplan.runtime import Registry
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.clock import EPOCH, VirtualClock
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.faults import Delayed, Faults

_MAX_IDLE_ATTEMPTS_PER_POD = 3
"""Attempts per pending pod, on average, before a run ends without progress; changes of statuses do not count."""


class Simulation:
    """Runs the engine on a simulated cluster. The result depends on the objects and the seed only."""

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        seed: int = 0,
        observer: Observer | None = None,
        faults: Faults | None = None,
        keep_objects: bool = False,
        grace: float = 0.0,
        start: float = EPOCH,
        extenders: tuple[Extender, ...] = (),
        call_extender: Callable[[CallExtender], Any] = lambda request: Failure("extenders are not called"),
        max_kept_events: int = 100_000,
    ) -> None:
        """`start` is the start of simulated time; with running pods, it must be later than theirs.

        `call_extender` calls a real extender and takes no simulated time. The bind verb is not called: the simulated
        API server binds.
        """
        self.clock = VirtualClock(start)
        self.on_time_passing: Callable[[float], None] | None = None
        """Receives the seconds that are about to pass while nothing changes."""
        self.api_server = ApiServer(self.clock, faults, grace=grace, max_kept_events=max_kept_events)
        self.controllers = Controllers(self.api_server)
        self.engine = Engine(
            config,
            registry,
            clock=self.clock,
            rng=random.Random(seed),
            observer=observer,
            keep_objects=keep_objects,
            extenders=extenders,
        )
        self._seed = seed
        self._keep_objects = keep_objects
        self._extenders = extenders
        self._call_extender = call_extender
        self.whole: Callable[[Any], Any] = lambda item: None
        """Returns the raw JSON of an object, for plugins with `needs_objects`."""
        self._answers: list[tuple[float, int, Request, Any]] = []
        """Delayed answers: (when, number, request, outcome)."""
        self._number = count()

    def sibling(self, config: KubeSchedulerConfiguration, registry: Registry, observer: Observer) -> Simulation:
        """An empty simulation at the same time, with the same seed and extenders."""
        made = Simulation(
            config,
            registry,
            seed=self._seed,
            observer=observer,
            keep_objects=self._keep_objects,
            start=self.clock.now,
            extenders=self._extenders,
            call_extender=self._call_extender,
        )
        made.whole = self.whole
        made.api_server.continue_uids(self.api_server)
        return made

    def settle(self) -> None:
        """Deliver changes and carry out instructions until none is left at the current time."""
        server, engine, react = self.api_server, self.engine, self.controllers.react
        while True:
            for change in server.changes():
                if change.removed:
                    engine.remove(change.item)
                else:
                    engine.put(change.item, self.whole(change.item))
                react(change)
            instructions = engine.take()
            for instruction in instructions:
                self._execute(instruction)
            if not instructions and not server.has_changes:
                return

    def run(self, on_step: Callable[[], None] = lambda: None) -> None:
        """Run cycles until there is no more progress; `on_step` is called after each cycle."""
        for _ in self.attempts():
            on_step()

    def attempts(self) -> Iterator[None]:
        """Run one cycle with each iteration, until there is no more progress."""
        version, idle = -1, 0
        self.settle()
        while idle <= _MAX_IDLE_ATTEMPTS_PER_POD * (len(self.engine.pending) + 1):
            before = self.engine.cycles
            if self.step():
                yield
                idle += self.engine.cycles - before
            elif not self._waits_for_time() or not self.advance():
                return
            if version != self.api_server.version:
                version, idle = self.api_server.version, 0

    def run_until(self, time: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Run everything that is due up to a time, cycles at that time included; less if `stop` returns True.

        `stop` is called whenever all cycles of a moment are over.
        """
        self.settle()
        while True:
            while self.step():
                pass
            if stop():
                return
            if not self.advance(time):
                if time < math.inf:
                    self.pass_time(time)
                return

    def _waits_for_time(self) -> bool:
        """Whether something is due at a later time. The unschedulable timeout does not count: retrying pods that no
        event woke would not change the result."""
        return bool(self._answers) or self.api_server.next_deadline() is not None or self.engine.waits_for_time

    def step(self) -> bool:
        """Run one scheduling cycle and everything that follows at the current time; False if no pod is ready."""
        busy = self.engine.schedule_one()
        if busy:
            self.settle()
        return busy

    def pass_time(self, until: float) -> None:
        """Set the clock to a time, unless that is over. Nothing changes in between."""
        if until > self.clock.now:
            if self.on_time_passing is not None:
                self.on_time_passing(until - self.clock.now)
            self.clock.now = until

    def advance(self, until: float | None = None) -> bool:
        """Advance to the next deadline; False if there is none up to `until`."""
        due, timer = self.api_server.next_deadline(), self.engine.next_deadline()
        for other in (timer, self._answers[0][0] if self._answers else None):
            if other is not None and (due is None or other < due):
                due = other
        if due is None or (until is not None and due > until):
            return False
        self.pass_time(due)
        self.api_server.tick()
        if timer is not None or self._answers:
            self._run_timers()
        self.settle()
        return True

    def _run_timers(self) -> None:
        """Deliver delayed answers that are due, and run timers of the engine."""
        while self._answers and self._answers[0][0] <= self.clock.now:
            _, _, request, outcome = heappop(self._answers)
            self.engine.answer(request, outcome)
        self.engine.tick()

    def _execute(self, instruction: Instruction) -> None:
        if isinstance(instruction, Call):
            self.engine.answer(instruction, call(instruction.function))
            return
        if isinstance(instruction, CallExtender) and instruction.verb != "bind":
            self.engine.answer(instruction, self._call_extender(instruction))
            return
        request = Bind(instruction.pod, instruction.argument) if isinstance(instruction, CallExtender) else instruction
        outcome = self.api_server.execute(request)
        if not isinstance(instruction, Request):
            return
        if isinstance(outcome, Delayed):
            heappush(self._answers, (self.clock.now + outcome.delay, next(self._number), instruction, outcome.outcome))
        else:
            self.engine.answer(instruction, outcome)


def call(function: Callable[[], Any]) -> Any:
    """Call a plugin's method; a coroutine runs to completion on an event loop of its own."""
    try:
        result = function()
        return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        return Failure(raised(problem))


async def _awaited(result: Any) -> Any:
    return await result
