"""Retries of pods during and after an extender's outage."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowplan.engine.scheduling_cycle import SchedulingCycles
from stowplan.engine.state import EngineState
from stowplan.engine.timers import Timer
from stowplan.framework import Failure
from stowplan.framework.extender import (
    CIRCUIT_OPEN,
    CIRCUIT_PAUSE_SECONDS,
    UNREACHABLE,
    CallExtender,
    Extender,
    ExtenderVerb,
)

_Circuit = tuple[Extender, ExtenderVerb]


class ExtenderOutages:
    """Marks pods whose attempt ends because an extender's circuit is open. One of them is retried after each pause of
    the circuit, all of them once the extender answers.

    Their attempts do not prolong the backoff: kube-scheduler waits for the extender with each pod, so it would not
    have attempted them.
    """

    def __init__(self, state: EngineState, cycles: SchedulingCycles) -> None:
        self._state = state
        self._cycles = cycles
        self._open: dict[_Circuit, Timer | None] = {}
        """Circuits that have spared pods, with the timer of the next retry."""

    def answered(self, request: CallExtender, outcome: Any) -> None:
        """An extender was called, or its circuit is open. To be called before the outcome is handled."""
        circuit = (request.extender, request.verb)
        reason = outcome.reason if isinstance(outcome, Failure) else ""
        if reason == CIRCUIT_OPEN:
            self._mark(request, circuit)
            self._retry_later(circuit)
        elif circuit not in self._open:
            return
        elif reason == UNREACHABLE:
            self._retry_later(circuit)
        else:
            timer = self._open.pop(circuit)
            if timer is not None:
                timer.cancel()
            self._state.defer(partial(self._state.queue.activate_spared, circuit))

    def _mark(self, request: CallExtender, circuit: _Circuit) -> None:
        attempt = self._state.attempts.get(request.pod.uid)
        queued = self._cycles.last if attempt is None else attempt.queued
        # Attempts go on without an ignorable extender, and without scores.
        if queued is not None and not request.extender.ignorable and request.verb != "prioritize":
            queued.spared = (circuit, queued.attempts)

    def _retry_later(self, circuit: _Circuit) -> None:
        if self._open.get(circuit) is None:
            self._open[circuit] = self._state.timers.after(CIRCUIT_PAUSE_SECONDS, partial(self._retry, circuit))

    def _retry(self, circuit: _Circuit) -> None:
        self._open[circuit] = None
        self._state.queue.activate_spared(circuit, 1)
