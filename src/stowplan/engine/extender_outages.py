"""Retries of pods after an extender's outage."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowplan.engine.scheduling_cycle import SchedulingCycles
from stowplan.engine.state import EngineState
from stowplan.framework import Failure
from stowplan.framework.extender import CIRCUIT_OPEN, UNREACHABLE, CallExtender, Extender, ExtenderVerb


class ExtenderOutages:
    """Marks pods whose attempt ends because an extender's circuit is open, and retries them once the extender answers.

    Their attempts do not prolong the backoff: kube-scheduler, which waits for the extender with each pod, would not have
    come to them.
    """

    def __init__(self, state: EngineState, cycles: SchedulingCycles) -> None:
        self._state = state
        self._cycles = cycles
        self._open: set[tuple[Extender, ExtenderVerb]] = set()

    def answered(self, request: CallExtender, outcome: Any) -> None:
        """An extender was called, or its circuit is open. To be called before the outcome is handled."""
        circuit = (request.extender, request.verb)
        reason = outcome.reason if isinstance(outcome, Failure) else ""
        if reason == CIRCUIT_OPEN:
            self._open.add(circuit)
            attempt = self._state.attempts.get(request.pod.uid)
            queued = self._cycles.last if attempt is None else attempt.queued
            if queued is not None and not request.extender.ignorable and request.verb != "prioritize":
                queued.spared = (circuit, queued.attempts)
        elif reason != UNREACHABLE and circuit in self._open:
            self._open.discard(circuit)
            self._state.defer(partial(self._state.queue.activate_spared, circuit))
