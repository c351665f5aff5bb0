"""A circuit breaker: an extender that lets callers wait and does not answer is not called for a moment, so that pods do
not wait for it one after another."""

from __future__ import annotations

from collections.abc import Callable

from stowplan.framework.extender import CIRCUIT_PAUSE_SECONDS

FAILURES_TO_OPEN = 3
"""Consecutive failures that open the circuit."""
CHEAP_FAILURE_SECONDS = 0.25
"""Failures within this time, such as a refused connection, cost so little that calls go on as in kube-scheduler."""


class Breaker:
    """Closed while calls succeed or fail at once. Open after some slow failures in a row: the last one is the answer,
    at once. When the pause is over, one call is let through: it closes the circuit, or a further pause follows."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._probing = False
        self._remembered = ""

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES_TO_OPEN

    def refusal(self) -> str:
        """Why no call is made now; "" to make one, whose result must be reported."""
        if not self.is_open:
            return ""
        if self._probing or self._clock() < self._until:
            return self._remembered
        self._probing = True
        return ""

    def worked(self) -> None:
        """The extender answered, with any status."""
        self._failures = 0
        self._probing = False

    def failed(self, why: str, seconds: float) -> None:
        """The extender was unreachable, or did not answer in time; `seconds` is the duration of the call."""
        if seconds < CHEAP_FAILURE_SECONDS:
            self.worked()
            return
        self._remembered = why
        self._failures += 1
        self._probing = False
        self._until = self._clock() + CIRCUIT_PAUSE_SECONDS
