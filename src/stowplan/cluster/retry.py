"""Retries: waits between attempts, and log lines about them.

Upstream: k8s.io/apimachinery/pkg/util/wait/backoff.go
"""

import random
from collections.abc import Callable

from stowplan import logs

_REMINDER_SECONDS = 60.0

_MESSAGES = {
    "list": ("Failed to list", "Succeeded to list again"),
    "watch": ("Failed to watch", "Succeeded to watch again"),
    "acquire": ("Failed to acquire", "Succeeded to acquire again"),
}
"""By verb, the messages for a failure and for the first success after it."""

log = logs.get(__name__)


class RetryBackoff:
    """Exponential backoff: waits double up to a limit, with a jitter of up to 100 %, and reset after a quiet period.

    The defaults are those of client-go's reflectors.
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
        self._last_at = clock()

    def next(self) -> float:
        """Seconds until the next attempt."""
        now = self._clock()
        if now - self._last_at > self._reset_after:
            self._next = self._first
        self._last_at = now
        wait = self._next
        self._next = min(wait * 2, self._longest)
        return wait * (1 + self._rng.random())


class FailureLog:
    """Logs a failure when its text changes and then once a minute, and the first success after it."""

    def __init__(self, clock: Callable[[], float], **fields: str) -> None:
        self._clock = clock
        self._fields = fields
        """Fields of every line, such as `resource`."""
        self._last: dict[str, tuple[str, float]] = {}
        """By verb, the last text logged and its time."""

    def failed(self, verb: str, error: Exception) -> None:
        text, now = str(error), self._clock()
        last, logged_at = self._last.get(verb, (None, 0.0))
        if text != last or now - logged_at >= _REMINDER_SECONDS:
            self._last[verb] = (text, now)
            log.warning(_MESSAGES[verb][0], **self._fields, err=text)

    def works(self, verb: str) -> None:
        if self._last.pop(verb, None):
            log.info(_MESSAGES[verb][1], **self._fields)
