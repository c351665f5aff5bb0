"""A host for an engine in tests: an API server in memory and a clock that the test moves.

Instructions of the engine and watch events are kept until the test executes and delivers them, in an order of its
choice; `settle` executes and delivers all of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import chain
from typing import Any

from tests.builders.objects import Json, typed

from stowplan import api
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.types import KubeSchedulerConfiguration
from stowplan.engine import CheckedEngine, Engine, Observer
from stowplan.framework import Bind, Call, EmitEvent, Failure, Instruction, PatchStatus, RepeatEvent, Request
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory, enable_everywhere
from stowplan.simulator.api_server import ApiServer, ObjectChange
from stowplan.simulator.clock import VirtualClock
from stowplan.simulator.simulation import call

NOW = 1_000_000.0


def configured(config: Json | None, plugins: Mapping[str, Factory]) -> KubeSchedulerConfiguration:
    """A configuration, the default one without `config`, in which the plugins are enabled."""
    settings = default_configuration()
    if config is not None:
        settings = from_builtins(config, "config", frozenset((*IN_TREE_PLUGINS, *plugins)))
    return enable_everywhere(settings, plugins)


class Host:
    """An engine that checks its invariants after every call, and the API server that it schedules for."""

    def __init__(
        self,
        *items: Any,
        config: Json | KubeSchedulerConfiguration | None = None,
        plugins: Mapping[str, Factory] | None = None,
        observer: Observer | None = None,
        grace: float = 0.0,
        check_invariants: bool = True,
        **options: Any,
    ) -> None:
        self.clock = VirtualClock(NOW)
        self.world = ApiServer(self.clock, grace=grace)
        make_engine = CheckedEngine if check_invariants else Engine
        self.engine = make_engine(
            config if isinstance(config, KubeSchedulerConfiguration) else configured(config, plugins or {}),
            {**REGISTRY, **(plugins or {})},
            clock=self.clock,
            rng=random.Random(0),
            observer=observer,
            **options,
        )
        self.state = self.engine._state
        """The engine's private state, for tests of its parts."""
        self.undelivered: list[ObjectChange] = []
        """Changes that the engine has not received."""
        self.open: list[Instruction] = []
        """Instructions that were taken from the engine and not executed."""
        self.done: list[Instruction] = []
        self.put(*items)

    # Changes of the cluster
    def put(self, *items: Any) -> None:
        """Create or update objects, or the JSON of pods and nodes; the engine receives the changes at once."""
        for item in items:
            self.world.put(typed(item) if isinstance(item, dict) else item)
        self.deliver()

    def delete(self, *items: Any) -> None:
        for item in items:
            self.world.delete(typed(item) if isinstance(item, dict) else item)
        self.deliver()

    def deliver(self) -> None:
        """Deliver all changes to the engine."""
        self.undelivered += self.world.changes()
        while self.undelivered:
            self.deliver_one()

    def deliver_one(self, position: int = 0) -> None:
        change = self.undelivered.pop(position)
        (self.engine.remove if change.removed else self.engine.put)(change.item)

    # Instructions
    def take(self) -> list[Instruction]:
        """New instructions of the engine, which are also added to `open`."""
        taken = self.engine.take()
        self.open += taken
        return taken

    def do(self, instruction: Instruction, outcome: Any = ...) -> None:
        """Execute an instruction, or only answer it with `outcome`."""
        self.open.remove(instruction)
        self.done.append(instruction)
        if outcome is ...:
            is_call = isinstance(instruction, Call)
            outcome = call(instruction.function) if is_call else self.world.execute(instruction)
        self.undelivered += self.world.changes()
        if isinstance(instruction, Request):
            self.engine.answer(instruction, outcome)

    def settle(self, *held: type[Instruction]) -> None:
        """Execute and deliver everything except instructions of the held types."""
        while True:
            self.deliver()
            self.take()
            free = [each for each in self.open if not isinstance(each, held)]
            if not free:
                return
            self.do(free[0])

    def schedule(self, *held: type[Instruction]) -> None:
        """Run cycles until no pod is ready, and settle after each."""
        self.settle(*held)
        while self.engine.schedule_one():
            self.settle(*held)

    def advance(self, seconds: float, *held: type[Instruction]) -> None:
        """Move the clock, with a stop at every deadline of the engine."""
        end = self.clock.now + seconds
        while (due := self.next_deadline()) is not None and due <= end:
            self.pass_time(due)
            self.schedule(*held)
        self.pass_time(end)
        self.schedule(*held)

    def next_deadline(self) -> float | None:
        deadlines = (self.engine.next_deadline(), self.world.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def pass_time(self, until: float) -> None:
        """Set the clock to `until` and run due timers."""
        self.clock.now = max(self.clock.now, until)
        self.world.tick()
        self.engine.tick()

    def next_open(self, kind: type[Instruction], pod: str = "") -> Any:
        """The first open instruction of a type, about a pod if one is named."""
        self.take()
        return next(each for each in self.open if isinstance(each, kind) and _name(each) in ("", pod or _name(each)))

    def answer(self, kind: type[Instruction], outcome: Any, pod: str = "") -> None:
        self.do(self.next_open(kind, pod), outcome)

    # Results
    def pod(self, name: str, namespace: str = "default") -> api.Pod:
        found = self.world.get(api.Pod, name, namespace)
        assert found is not None
        return found

    def node_of(self, name: str) -> str:
        return self.pod(name).spec.node_name

    def condition(self, name: str) -> tuple[str, str, str]:
        """(status, reason, message) of PodScheduled."""
        found = next(each for each in self.pod(name).status.conditions if each.type == "PodScheduled")
        return found.status, found.reason, found.message

    def events(self, name: str = "") -> list[str]:
        """Reasons and notes of the events about a pod, or of all events."""
        self.take()
        given = (*self.done, *self.open)
        events = [each.each() if isinstance(each, RepeatEvent) else (each,) for each in given]
        emitted = [each for each in chain.from_iterable(events) if isinstance(each, EmitEvent)]
        return [f"{each.reason}: {each.note}" for each in emitted if name in ("", each.regarding.name)]

    def place(self, name: str) -> str:
        """The part of the queue that a pod is in, or ""."""
        for part in ("active", "backoff", "error_backoff", "throttled", "unschedulable", "gated"):
            if any(unit.pod.name == name for unit in getattr(self.state.queue, part)):
                return part
        return ""

    def unit(self, name: str) -> Any:
        return next(unit for unit in self.engine.queued_pods() if unit.pod.name == name)

    @property
    def assumed(self) -> set[str]:
        return {self.engine.cluster.pods[uid].name for uid in self.engine.cluster.assumed}


def _name(instruction: Instruction) -> str:
    if isinstance(instruction, Bind | PatchStatus):
        return instruction.pod.name
    return ""


REFUSED = Failure("the server says no", "Conflict")
