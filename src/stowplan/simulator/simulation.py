"""A simulated cluster with a scheduler in it: the world, its controllers, the engine, and a clock that jumps."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable
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
from stowplan.simulator.controllers import Controllers
from stowplan.simulator.faults import Delayed, Faults

EPOCH = 1_767_225_600.0
"""2026-01-01T00:00:00Z, where simulated time begins unless told otherwise."""


_PATIENCE = 3
"""How often each pending pod is tried, on average, while nothing changes but statuses."""


class VirtualClock:
    """Time that stands still until it is moved."""

    __slots__ = ("now",)

    def __init__(self, now: float = EPOCH) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Simulation:
    """Runs the engine on a world. Everything that happens follows from the objects put in, and the seed."""

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
        ask: Callable[[CallExtender], Any] = lambda request: Failure("nobody is there to ask extenders"),
    ) -> None:
        """`start` is when simulated time begins: where there are pods that have been running, later than they do.

        `ask` calls a real extender, and takes no simulated time. None is ever asked to bind: that happens here.
        """
        self.clock = VirtualClock(start)
        self.api_server = ApiServer(self.clock, faults, grace=grace)
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
        self._ask = ask
        self.whole: Callable[[Any], Any] = lambda item: None
        """Gives all of an object's JSON, for plugins that want it."""
        self._answers: list[tuple[float, int, Request, Any]] = []
        """Answers on their way: (when, number, request, outcome)."""
        self._number = count()

    def settle(self) -> None:
        """Tell everybody what changed, and do what is asked for, until nothing more follows at this moment."""
        while True:
            changes = self.api_server.changes()
            for change in changes:
                if change.removed:
                    self.engine.remove(change.item)
                else:
                    self.engine.put(change.item, self.whole(change.item))
                self.controllers.react(change)
            instructions = self.engine.take()
            for instruction in instructions:
                self._execute(instruction)
            if not changes and not instructions:
                return

    def run(self, on_step: Callable[[], None] = lambda: None) -> None:
        """Let the scheduler work until nothing moves any more; `on_step` is called after each cycle."""
        version, idle = -1, 0
        self.settle()
        while idle <= _PATIENCE * (len(self.engine.pending) + 1):
            if self.step():
                on_step()
                idle += 1
            elif not self._waits_for_time() or not self.advance():
                return
            if version != self.api_server.version:
                version, idle = self.api_server.version, 0

    def _waits_for_time(self) -> bool:
        """Whether anything is under way that time alone brings on. Pods that no event woke would not fare better for
        having waited long, although a scheduler that runs for ever tries them now and then."""
        return bool(self._answers) or self.api_server.next_deadline() is not None or self.engine.waits_for_time

    def step(self) -> bool:
        """One scheduling cycle, and all that follows from it at once; False where no pod is ready."""
        busy = self.engine.schedule_one()
        if busy:
            self.settle()
        return busy

    def advance(self, until: float | None = None) -> bool:
        """Jump to the next moment at which something is due; False where there is none, or none up to `until`."""
        deadlines = [self.engine.next_deadline(), self.api_server.next_deadline()]
        if self._answers:
            deadlines.append(self._answers[0][0])
        due = min((deadline for deadline in deadlines if deadline is not None), default=None)
        if due is None or (until is not None and due > until):
            return False
        self.clock.now = max(self.clock.now, due)
        self.api_server.tick()
        while self._answers and self._answers[0][0] <= self.clock.now:
            _, _, request, outcome = heappop(self._answers)
            self.engine.answer(request, outcome)
        self.engine.tick()
        self.settle()
        return True

    def _execute(self, instruction: Instruction) -> None:
        if isinstance(instruction, Call):
            self.engine.answer(instruction, call(instruction.function))
            return
        if isinstance(instruction, CallExtender) and instruction.verb != "bind":
            self.engine.answer(instruction, self._ask(instruction))
            return
        done = Bind(instruction.pod, instruction.argument) if isinstance(instruction, CallExtender) else instruction
        outcome = self.api_server.execute(done)
        if not isinstance(instruction, Request):
            return
        if isinstance(outcome, Delayed):
            heappush(self._answers, (self.clock.now + outcome.delay, next(self._number), instruction, outcome.outcome))
        else:
            self.engine.answer(instruction, outcome)


def call(function: Callable[[], Any]) -> Any:
    """Call a plugin's method here and now; one that is a coroutine gets an event loop for as long as it takes."""
    try:
        result = function()
        return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        return Failure(raised(problem))


async def _awaited(result: Any) -> Any:
    return await result
