"""Checking an engine after every call."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from stowplan.engine.invariants.accounting import Books, overfilled
from stowplan.engine.invariants.queue_places import misplaced
from stowplan.engine.observer import Observer
from stowplan.engine.state import EngineState
from stowplan.errors import StowplanError
from stowplan.queue import QueuedPod
from stowplan.runtime import Decision

if TYPE_CHECKING:
    from stowplan.engine.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")


class InvariantError(StowplanError):
    """The engine contradicts itself. Whatever it does from now on, it should not be trusted with a cluster."""


class Invariants(Observer):
    """Stands between an engine and whoever observes it, and sees to it that what must hold holds."""

    def __init__(self, core: EngineState) -> None:
        self._core = core
        self._told = core.observer
        """Who is told what this one is told."""
        self._books = Books(core.cluster)
        self._bound: set[str] = set()
        """Pods whose binding succeeded and that no watch has told of so far."""
        self._problems: list[str] = []
        """Of decisions: they cannot be seen any more when they have taken effect."""
        for step in vars(Observer):
            if not step.startswith("_") and step not in vars(Invariants):
                setattr(self, step, getattr(self._told, step))

    def problems(self, suspended: bool = False) -> list[str]:
        """Everything that does not hold right now."""
        self._bound &= self._core.cluster.assumed
        found = [*self._problems, *misplaced(self._core, self._bound, suspended), *self._books.miscounted()]
        self._problems.clear()
        return found

    def after(self, call: Callable[P, T], suspended: Callable[[], bool]) -> Callable[P, T]:
        """The call, followed by a check; a cycle may then be suspended."""

        @wraps(call)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            result = call(*args, **kwargs)
            if problems := self.problems(suspended()):
                raise InvariantError(f"after {call.__name__}: " + "; ".join(problems))
            return result

        return checked

    def decided(self, unit: QueuedPod, decision: Decision) -> None:
        if decision.node_name:
            self._problems += overfilled(self._core.cluster, decision)
        self._told.decided(unit, decision)

    def bound(self, unit: QueuedPod, node_name: str) -> None:
        self._bound.add(unit.pod.uid)
        self._told.bound(unit, node_name)


def check(engine: Engine) -> list[str]:
    """What does not hold in an engine right now. One that is not checked all the time cannot tell whether an assumed
    pod that nobody is binding any more has been bound, so that is taken for granted there."""
    if engine.invariants is not None:
        return engine.invariants.problems(engine.suspended)
    core = engine.core
    return [*misplaced(core, core.cluster.assumed, engine.suspended), *Books(core.cluster).miscounted()]
