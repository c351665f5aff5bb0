"""Mutual exclusion of requests that run plugins and of changes of the cluster.

A request whose plugin hangs is overtaken: once its deadline has passed, the next request enters. This is safe, since
plugins only read the cluster and the result of the late request is discarded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stowplan import logs
from stowplan.runtime.out_of_tree.threads import OutOfTimeError

log = logs.get(__name__)

Change = Callable[[], None]
"""A change of the cluster, made while no plugin reads it."""

OVERTAKE_AFTER_SECONDS = 0.1
"""Time after its deadline until a request is overtaken; most late requests end by themselves."""
_MAX_WAIT_SECONDS = 1.0


class Exclusive:
    """Exclusive use of plugins and cluster. `clock` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Held by the running request. Replaced by a new lock when that request is overtaken."""
        self._overtaking = threading.Lock()
        self._changes: deque[Change] = deque()
        self._entered_at = 0.0
        self._deadline: float | None = None
        self._busy_with = ""
        self.stuck = 0
        """Requests that were overtaken and still run."""

    @contextmanager
    def entered(self, what: str, deadline: float | None) -> Iterator[None]:
        """Wait for exclusive use until the deadline. `what` describes the request in messages."""
        lock = self._enter(deadline)
        self._entered_at, self._deadline, self._busy_with = self._clock(), deadline, what
        try:
            self._apply_changes()
            yield
        finally:
            self._leave(lock)
        # A change may have been queued between _leave's last check and the release.
        self._try_to_apply()

    def apply(self, change: Change) -> None:
        """Make a change at once if no request runs, else when the running one ends. Never waits."""
        self._changes.append(change)
        self._try_to_apply()

    def _enter(self, deadline: float | None) -> threading.Lock:
        while True:
            lock, now = self._lock, self._clock()
            if lock.acquire(timeout=self._wait_seconds(now, deadline)):
                if lock is self._lock:
                    return lock
                lock.release()
            elif deadline is not None and self._clock() >= deadline:
                raise OutOfTimeError(f"plugins were busy with {self._busy_with} all the time")
            else:
                self._overtake(lock)

    def _wait_seconds(self, now: float, deadline: float | None) -> float:
        """Time until the own deadline or that of the running request, at most _MAX_WAIT_SECONDS."""
        ends = [now + _MAX_WAIT_SECONDS]
        if deadline is not None:
            ends.append(deadline)
        running = self._deadline
        if running is not None:
            ends.append(running + OVERTAKE_AFTER_SECONDS)
        return max(0.0, min(ends) - now)

    def _overtake(self, lock: threading.Lock) -> None:
        with self._overtaking:
            now, overdue = self._clock(), self._deadline
            if lock is not self._lock or overdue is None or now < overdue + OVERTAKE_AFTER_SECONDS:
                return
            log.warning(
                "Request is stuck, other requests continue without it",
                request=self._busy_with,
                seconds=round(now - self._entered_at, 1),
            )
            self._lock = threading.Lock()
            self._deadline = None
            self.stuck += 1

    def _leave(self, lock: threading.Lock) -> None:
        with self._overtaking:
            overtaken = lock is not self._lock
            if overtaken:
                self.stuck -= 1
            else:
                self._deadline = None  # It can no longer be overtaken.
        if not overtaken:
            self._apply_changes()
        lock.release()

    def _try_to_apply(self) -> None:
        while self._changes:
            lock = self._lock
            if not lock.acquire(blocking=False):
                return
            try:
                if lock is self._lock:
                    self._apply_changes()
            finally:
                lock.release()

    def _apply_changes(self) -> None:
        while self._changes:
            change = self._changes.popleft()
            try:
                change()
            except Exception as error:
                log.exception(error, "Failed to apply a change of the cluster")
