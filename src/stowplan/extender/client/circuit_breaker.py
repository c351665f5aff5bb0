"""A circuit breaker: an extender that does not answer is not called for a while, so that pods do not wait for it."""

from __future__ import annotations

from collections.abc import Callable

FAILURES = 3
"""Consecutive failures that open the circuit."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0


class Breaker:
    """Closed while calls work. Open after some failures in a row: the last one is the answer, at once. When the pause
    is over, one call is let through: if it works all are, else the next pause is twice as long."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_PAUSE_SECONDS
        self._until = 0.0
        self._probing = False
        self._remembered = ""

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

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
        self._pause = FIRST_PAUSE_SECONDS
        self._probing = False

    def failed(self, why: str) -> None:
        """It could not be reached, or did not answer in time."""
        self._remembered = why
        self._failures += 1
        if not self.is_open:
            return
        if self._probing:
            self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS)
        self._probing = False
        self._until = self._clock() + self._pause
