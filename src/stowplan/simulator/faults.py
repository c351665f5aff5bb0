"""What goes wrong in real clusters, on purpose: refused, lost and slow requests, nodes that vanish.

A fault is a chance, the requests that it befalls and what it does to them; a new sort of fault is a new function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

from stowplan.framework.instructions import Bind, Request
from stowplan.simulator.api_writes import MODIFIED, conflict, timed_out

CarryOut = Callable[[Request], Any]
"""Fulfils a request and tells the outcome."""


class Delayed(NamedTuple):
    """An outcome that is to be told only after some seconds."""

    delay: float
    outcome: Any


class Fault(NamedTuple):
    """Something that befalls some of the requests of some types."""

    chance: float
    befalls: type[Request]
    strike: Callable[[Request, CarryOut, Random], Any]
    """Takes the request, the way to fulfil it, and the generator; gives the outcome."""


class NodeLoss(NamedTuple):
    """A node that is deleted at a time."""

    at: float
    name: str


class Faults:
    """All that is to go wrong. At most one fault befalls a request: the first one whose chance comes up."""

    def __init__(self, rng: Random, faults: Iterable[Fault] = (), node_losses: Iterable[NodeLoss] = ()) -> None:
        self.node_losses = tuple(node_losses)
        self._rng = rng
        self._faults = tuple(faults)

    def carry_out(self, request: Request, carry_out: CarryOut) -> Any:
        """The outcome of a request, for better or worse."""
        for fault in self._faults:
            if isinstance(request, fault.befalls) and self._rng.random() < fault.chance:
                return fault.strike(request, carry_out, self._rng)
        return carry_out(request)


def bind_conflict(chance: float) -> Fault:
    """Bindings that are refused, as when something else wrote to the pod."""

    def refuse(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        assert isinstance(request, Bind)
        return conflict("pods/binding", request.pod.name, MODIFIED)

    return Fault(chance, Bind, refuse)


def lost_request(chance: float) -> Fault:
    """Requests that never arrive: nothing is done, and nobody answers in time."""
    return Fault(chance, Request, lambda request, carry_out, rng: timed_out())


def lost_answer(chance: float) -> Fault:
    """Requests that are fulfilled, only that the answer does not come through."""

    def lose(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        carry_out(request)
        return timed_out()

    return Fault(chance, Request, lose)


def slow(chance: float, shortest: float, longest: float) -> Fault:
    """Requests that are fulfilled at once and answered some seconds after."""

    def delay(request: Request, carry_out: CarryOut, rng: Random) -> Any:
        return Delayed(rng.uniform(shortest, longest), carry_out(request))

    return Fault(chance, Request, delay)
