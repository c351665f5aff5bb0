"""One at a time: plugins and their cluster are used by one request, or changed, never both.

A plugin that hangs is overtaken: once its answer would come too late, whoever comes next goes in. That does no harm,
since plugins only read the cluster, and what the late one still finds out is thrown away.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stowplan.errors import StowplanError
from stowplan.extender.handlers.ports import Change

log = logging.getLogger("stowplan.extender")

GRACE = 0.1
"""Seconds after its deadline until a request is overtaken; most of those that are late leave by themselves."""
_LOOK_AGAIN = 1.0


class OutOfTimeError(StowplanError):
    """An answer would come too late."""


class Exclusive:
    """Exclusive use of plugins and cluster. `clock` is a monotonic one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Held by whoever is inside. Another one takes its place when they are overtaken."""
        self._overtaking = threading.Lock()
        self._changes: deque[Change] = deque()
        self._entered_at = 0.0
        self._deadline: float | None = None
        self._busy_with = ""
        self.stuck = 0
        """Requests that were overtaken and have not come out yet."""

    @contextmanager
    def entered(self, what: str, deadline: float | None) -> Iterator[None]:
        """Wait for one's turn, but no longer than is of use; `what` is what others are told."""
        lock = self._enter(deadline)
        self._entered_at, self._deadline, self._busy_with = self._clock(), deadline, what
        try:
            self._catch_up()
            yield
        finally:
            self._leave(lock)
        # A change may have come after the last look and before the release.
        self._try_to_catch_up()

    def apply(self, change: Change) -> None:
        """Make a change now if nobody is inside, else as soon as they leave. Never waits."""
        self._changes.append(change)
        self._try_to_catch_up()

    def _enter(self, deadline: float | None) -> threading.Lock:
        while True:
            lock, now = self._lock, self._clock()
            if lock.acquire(timeout=self._patience(now, deadline)):
                if lock is self._lock:
                    return lock
                lock.release()
            elif deadline is not None and self._clock() >= deadline:
                raise OutOfTimeError(f"plugins were busy with {self._busy_with} all the time")
            else:
                self._overtake(lock)

    def _patience(self, now: float, deadline: float | None) -> float:
        """How long to wait before looking again: until one's own time is up, or that of whoever is inside."""
        ends = [now + _LOOK_AGAIN]
        if deadline is not None:
            ends.append(deadline)
        inside = self._deadline
        if inside is not None:
            ends.append(inside + GRACE)
        return max(0.0, min(ends) - now)

    def _overtake(self, lock: threading.Lock) -> None:
        with self._overtaking:
            now, overdue = self._clock(), self._deadline
            if lock is not self._lock or overdue is None or now < overdue + GRACE:
                return
            log.warning("going on without %s, which takes %.1f s so far", self._busy_with, now - self._entered_at)
            self._lock = threading.Lock()
            self._deadline = None
            self.stuck += 1

    def _leave(self, lock: threading.Lock) -> None:
        with self._overtaking:
            overtaken = lock is not self._lock
            if overtaken:
                self.stuck -= 1
            else:
                self._deadline = None  # From now on nobody overtakes.
        if not overtaken:
            self._catch_up()
        lock.release()

    def _try_to_catch_up(self) -> None:
        while self._changes:
            lock = self._lock
            if not lock.acquire(blocking=False):
                return
            try:
                if lock is self._lock:
                    self._catch_up()
            finally:
                lock.release()

    def _catch_up(self) -> None:
        while self._changes:
            change = self._changes.popleft()
            try:
                change()
            except Exception:
                log.exception("a change of the cluster could not be made")
