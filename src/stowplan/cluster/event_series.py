"""Events that repeat themselves are one event with a count."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from stowplan.cluster import wire

FINISH_AFTER = 360.0
"""Seconds of silence after which an event is not expected again; also how often that is looked at."""
REFRESH_EVERY = 1800.0
"""Seconds after which the server is told the count of what goes on, also lest it discard the event."""
MOST = 10_000


class Series:
    """One event, and how often it was seen."""

    __slots__ = ("_fields", "count", "created", "key", "path", "seen_at", "told", "told_at")

    def __init__(self, key: Hashable, path: bytes, fields: bytes, now: float) -> None:
        self.key = key
        """What makes events the same."""
        self.path = path
        """Of the event itself."""
        self._fields = fields
        """As they were when it was seen once."""
        self.count = 1
        self.seen_at = now
        self.created = False
        """Whether the server has it."""
        self.told = 1
        """The count that the server was last told."""
        self.told_at = now

    @property
    def collection(self) -> bytes:
        return self.path.rpartition(b"/")[0]

    def fields(self) -> bytes:
        """Of an event that the server is to make anew, with the count."""
        return self._fields + wire.series(self.count, self.seen_at)

    def patch(self, micro_time: wire.MicroTime) -> bytes:
        """What tells the server the count; patches are JSON."""
        return b'{"series":{"count":%d,"lastObservedTime":"%b"}}' % (self.count, micro_time(self.seen_at))


class SeriesBook:
    """What was seen of late."""

    def __init__(self, tell: Callable[[Series], None], most: int = MOST) -> None:
        self._tell = tell
        self._most = most
        self._book: dict[Hashable, Series] = {}

    def __len__(self) -> int:
        return len(self._book)

    def add(self, series: Series) -> None:
        if len(self._book) >= self._most:
            del self._book[next(iter(self._book))]
        self._book[series.key] = series

    def saw_again(self, key: Hashable, now: float) -> bool:
        """Count an event if it is known; False if it is not."""
        series = self._book.get(key)
        if series is None:
            return False
        series.count += 1
        series.seen_at = now
        if series.told == 1 and series.created:
            self._report(series, now)
        return True

    def created(self, series: Series, now: float) -> None:
        """The server has got the event; by now it may have been seen again."""
        series.created = True
        if series.count > series.told:
            self._report(series, now)

    def forget(self, series: Series) -> None:
        """The server does not want the event: start anew if it is seen again."""
        if self._book.get(series.key) is series:
            del self._book[series.key]

    def look_over(self, now: float) -> None:
        """Report counts that are due, and forget what has come to an end."""
        for series in list(self._book.values()):
            over = now - series.seen_at > FINISH_AFTER
            due = now - series.told_at >= REFRESH_EVERY and series.count > 1
            if series.created and (due or (over and series.count > series.told)):
                self._report(series, now)
            if over:
                del self._book[series.key]

    def _report(self, series: Series, now: float) -> None:
        series.told, series.told_at = series.count, now
        self._tell(series)
