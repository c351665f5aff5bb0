"""Log lines of events that clients can cause in great numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from stowplan.logs.log import Log

LOG_INTERVAL_SECONDS = 10.0


class RepeatedWarning:
    """A warning that is logged at most once in ten seconds, with the number of occurrences since the last line."""

    def __init__(self, log: Log, message: str, clock: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._message = message
        self._clock = clock
        self._lock = threading.Lock()
        self._next_line_at = float("-inf")
        self._count = 0

    def __call__(self, **values: Any) -> None:
        """Count an occurrence; the values are those of the occurrence that is logged."""
        now = self._clock()
        with self._lock:
            self._count += 1
            if now < self._next_line_at:
                return
            self._next_line_at = now + LOG_INTERVAL_SECONDS
            count, self._count = self._count, 0
        self._log.warning(self._message, **values, count=count)
