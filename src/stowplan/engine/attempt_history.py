"""The last failed attempts of pending pods, for explanations; bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence

from stowplan.cache.lru_map import LruMap
from stowplan.framework import Status

MAX_PODS_WITH_HISTORY = 10_000
MAX_ENTRIES_PER_POD = 8
MAX_KEPT_MESSAGE_CHARS = 1024


class FailedAttempts:
    """Consecutive attempts of one pod that failed alike: the same plugins rejected it, or the same error occurred."""

    __slots__ = ("count", "first", "latest", "message", "plugins", "rejected")

    def __init__(self, rejected: bool, plugins: frozenset[str]) -> None:
        self.rejected = rejected
        """Whether plugins rejected the pod; otherwise an error occurred."""
        self.plugins = plugins
        self.count = 0
        self.first = self.latest = 0.0
        """Times of the engine's clock."""
        self.message = ""
        """Of the latest attempt."""


class AttemptHistory:
    """Entries by the pod's uid. The pods whose latest failure is the longest ago are forgotten first."""

    def __init__(self) -> None:
        self._by_uid: LruMap[str, deque[FailedAttempts]] = LruMap(MAX_PODS_WITH_HISTORY)

    def record(self, uid: str, now: float, status: Status, message: str, plugins: frozenset[str]) -> None:
        """An attempt failed."""
        entries = self._by_uid.get_or_make(uid, lambda: deque(maxlen=MAX_ENTRIES_PER_POD))
        message = message[:MAX_KEPT_MESSAGE_CHARS]
        last = entries[-1] if entries else None
        if last is None or (last.rejected, last.plugins) != (status.rejected, plugins) or not _alike(last, message):
            last = FailedAttempts(status.rejected, plugins)
            last.first = now
            entries.append(last)
        last.count += 1
        last.latest = now
        last.message = message

    def retain(self, uids: Container[str]) -> None:
        """Forget all other pods."""
        for uid in [uid for uid in self._by_uid if uid not in uids]:
            self._by_uid.pop(uid)

    def repeated(self, uid: str, times: int, now: float) -> None:
        """The last failed attempt happened again, the last time now."""
        entries = self._by_uid.get(uid)
        if entries is not None:
            entries[-1].count += times
            entries[-1].latest = now

    def of(self, uid: str) -> Sequence[FailedAttempts]:
        """The oldest first."""
        return tuple(self._by_uid.peek(uid) or ())


def _alike(last: FailedAttempts, message: str) -> bool:
    """Numbers of nodes change from attempt to attempt; errors are alike if their messages are equal."""
    return last.rejected or last.message == message
