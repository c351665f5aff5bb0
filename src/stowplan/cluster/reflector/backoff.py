"""How long to wait before the next try."""

import random
from collections.abc import Callable


class RetryBackoff:
    """Waits that double up to a limit, each stretched by up to as much again so that clients do not march in step.

    The defaults are those of client-go's reflectors. After some quiet the first wait is a short one again.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        rng: random.Random,
        *,
        first: float = 0.8,
        longest: float = 30.0,
        reset_after: float = 120.0,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._first = first
        self._longest = longest
        self._reset_after = reset_after
        self._next = first
        self._asked_at = clock()

    def next(self) -> float:
        """The seconds to wait now."""
        now = self._clock()
        if now - self._asked_at > self._reset_after:
            self._next = self._first
        self._asked_at = now
        wait = self._next
        self._next = min(wait * 2, self._longest)
        return wait * (1 + self._rng.random())
