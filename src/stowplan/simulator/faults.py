"""Injected faults: refused, lost and slow requests, and lost nodes.

A fault is a probability, the type of requests that it affects, and its effect; a new fault is a new function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

from stowplan.framework.instructions import Bind, Request
from stowplan.simulator.api_writes import MODIFIED, conflict, timed_out

CarryOut = Callable[[Request], Any]
"""Carries out a request and returns the outcome."""


class Delayed(NamedTuple):
    """An outcome to be delivered after some seconds."""

    delay: float
    outcome: Any


class Fault(NamedTuple):
    """A fault that affects requests of a type at random."""

    chance: float
    affects: type[Request]
    apply: Callable[[Request, CarryOut, Random], Any]
    """Takes the request, the function that carries it out, and the generator; returns the outcome."""


class NodeLoss(NamedTuple):
    """The deletion of a node at a given time."""

    at: float
    name: str


class Faults:
    """All injected faults. At most one affects a request: the first that its probability selects."""

    def __init__(self, rng: Random, faults: Iterable[Fault] = (), node_losses: Iterable[NodeLoss] = ()) -> None:
        self.node_losses = tuple(node_losses)
        self._rng = rng
        self._faults = tuple(faults)

    def carry_out(self, request: Request, carry_out: CarryOut) -> Any:
        """The outcome of a request, possibly with a fault."""
        for fault in self._faults:
            if isinstance(request, fault.affects) and self._rng.random() < fault.chance:
                return fault.apply(request, carry_out, self._rng)
        return carry_out(request)


def bind_conflict(chance: float) -> Fault:
    """Bindings that fail with a conflict, as if another client had updated the pod."""

    def refuse(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        assert isinstance(request, Bind)
        return conflict("pods/binding", request.pod.name, MODIFIED)

    return Fault(chance, Bind, refuse)


def lost_request(chance: float) -> Fault:
    """Requests that never arrive: they have no effect and time out."""
    return Fault(chance, Request, lambda request, carry_out, rng: timed_out())


def lost_answer(chance: float) -> Fault:
    """Requests that are carried out, but whose reply is lost."""

    def lose(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        carry_out(request)
        return timed_out()

    return Fault(chance, Request, lose)


def slow(chance: float, min_seconds: float, max_seconds: float) -> Fault:
    """Requests that are carried out at once and answered after a delay."""

    def delay(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        return Delayed(rng.uniform(min_seconds, max_seconds), carry_out(request))

    return Fault(chance, Request, delay)
