"""What the log hears of failures that are tried again and again."""

import logging
from collections.abc import Callable

_REMIND_SECONDS = 60.0

log = logging.getLogger("stowplan.cluster")


class FailureLog:
    """Logs why something cannot be done: at once if it is news, now and then if it stays so, and when it is over."""

    def __init__(self, resource: str, clock: Callable[[], float]) -> None:
        self._resource = resource
        self._clock = clock
        self._last: dict[str, tuple[str, float]] = {}
        """By verb, what was logged last, and when."""

    def failed(self, verb: str, error: Exception) -> None:
        text, now = f"Failed to {verb} {self._resource}: {error}", self._clock()
        last, logged_at = self._last.get(verb, ("", 0.0))
        if text != last or now - logged_at >= _REMIND_SECONDS:
            self._last[verb] = (text, now)
            log.warning("%s", text)

    def works(self, verb: str) -> None:
        if self._last.pop(verb, None):
            log.info("It works again to %s %s", verb, self._resource)
