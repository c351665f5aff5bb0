"""Log lines for an operation that is retried until it succeeds."""

from collections.abc import Callable

from stowplan import logs

_REMINDER_SECONDS = 60.0

log = logs.get(__name__)


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
            log.warning(f"Failed to {verb}", **self._fields, err=text)

    def works(self, verb: str) -> None:
        if self._last.pop(verb, None):
            log.info(f"Succeeded to {verb} again", **self._fields)
