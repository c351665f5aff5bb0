"""Event series: repeated events become one event with a count.

Upstream: k8s.io/client-go/tools/events/event_broadcaster.go (recordToSink, finishSeries, refreshExistingEventSeries)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from stowplan.cluster import wire

FINISH_AFTER_SECONDS = 360.0
"""A series ends after this time without an event; also the period of the check."""
REFRESH_SECONDS = 1800.0
"""Period in which the count of a live series is sent, also to keep the event from expiring."""
MAX_SERIES = 10_000
MAX_JOINED_BATCHES = 1_000


class Series:
    """One event and its count."""

    __slots__ = (
        "_fields",
        "count",
        "created",
        "deferred",
        "key",
        "path",
        "reported",
        "reported_at",
        "seen_at",
        "subject",
        "together",
    )

    def __init__(self, key: Hashable, path: bytes, fields: bytes, now: float, subject: Hashable = None) -> None:
        self.key = key
        """Equal for repetitions of the event."""
        self.subject = key if subject is None else subject
        """Equal for events of one kind about one object, whatever its resourceVersion."""
        self.deferred = False
        """Whether the event or its count waits for the limit of repetitions."""
        self.path = path
        """Path of the event object."""
        self._fields = fields
        """Fields of the first event."""
        self.count = 1
        self.seen_at = now
        self.created = False
        """Whether the event object exists at the server."""
        self.reported = 1
        """The last count sent to the server."""
        self.reported_at = now
        self.together: SeriesTogether | None = None
        """Where events are counted that `count` does not include yet."""

    @property
    def collection(self) -> bytes:
        return self.path.rpartition(b"/")[0]

    def fields(self) -> bytes:
        """Fields for creating the event, with the count if it repeated."""
        return self._fields + wire.series(self.count, self.seen_at) if self.count > 1 else self._fields

    def patch(self, micro_time: wire.MicroTime) -> bytes:
        """The patch with the count, in JSON."""
        return b'{"series":{"count":%d,"lastObservedTime":"%b"}}' % (self.count, micro_time(self.seen_at))


class SeriesTogether:
    """Series of equal pods whose events repeat together. Their counts are brought up to date before they are sent."""

    __slots__ = ("_pods", "_seen_at", "_series", "_times")

    def __init__(self) -> None:
        self._series: dict[Hashable, Series] = {}
        """By pod."""
        self._pods: tuple[Hashable, ...] = ()
        """The pods, if the series of all of them are here; else empty."""
        self._times = 0
        self._seen_at = 0.0

    def __len__(self) -> int:
        return len(self._series)

    def count_again(self, pods: tuple[Hashable, ...], now: float) -> list[Hashable]:
        """Count an event of each pod; returns the pods without a series here. Series of other pods are removed."""
        missing: list[Hashable] = []
        if pods is not self._pods:
            self.settle()
            series = self._series
            missing = [pod for pod in pods if pod not in series]
            if len(series) + len(missing) > len(pods):
                self._series = {pod: series[pod] for pod in pods if pod in series}
            self._pods = () if missing else pods
        self._times += 1
        self._seen_at = now
        return missing

    def keep(self, series: dict[Hashable, Series]) -> None:
        self.settle()
        self._series |= series
        for each in series.values():
            if each.together is not None:
                each.together.settle()
            each.together = self

    def settle(self) -> None:
        for series in self._series.values() if self._times else ():
            series.count += self._times
            series.seen_at = max(series.seen_at, self._seen_at)
        self._times = 0


class SeriesBook:
    """The live series."""

    def __init__(self, on_report: Callable[[Series], None], max_series: int = MAX_SERIES) -> None:
        self._on_report = on_report
        self._max_series = max_series
        self._book: dict[Hashable, Series] = {}
        self._latest: dict[Hashable, Series] = {}
        """The latest series by subject."""
        self._together: dict[Hashable, SeriesTogether] = {}
        """Series that are counted together, by batch."""

    def __len__(self) -> int:
        return len(self._book)

    def add(self, series: Series) -> Series | None:
        """Add a series; returns the series before it with the same subject."""
        earlier = self._latest.get(series.subject)
        if len(self._book) >= self._max_series:
            self._remove(earlier or next(iter(self._book.values())))
        self._book[series.key] = self._latest[series.subject] = series
        return earlier

    def count_again(self, key: Hashable, now: float) -> bool:
        """Count an event of a known series; False if there is none."""
        series = self._book.get(key)
        if series is None:
            return False
        series.count += 1
        series.seen_at = now
        if series.reported == 1 and series.created:
            self._report(series, now)
        return True

    def created(self, series: Series, now: float) -> None:
        """The event object exists; the event may have repeated meanwhile."""
        series.created = True
        if series.together is not None:
            series.together.settle()
        if series.count > series.reported:
            self._report(series, now)

    def count_together(self, batch: Hashable, pods: tuple[Hashable, ...], now: float) -> Sequence[Hashable]:
        """Count an event of each pod of a batch whose series is kept together with the others; returns the other
        pods."""
        together = self._together.get(batch)
        return pods if together is None else together.count_again(pods, now)

    def keep_together(self, batch: Hashable, keys: Mapping[Hashable, Hashable]) -> None:
        """Count events of pods of a batch together from now on, if the server has or gets a count of each. The keys
        are those of the last events of pods."""
        known = {pod: series for pod, key in keys.items() if (series := self._book.get(key)) is not None}
        known = {pod: each for pod, each in known.items() if each.deferred or not each.created or each.reported > 1}
        if not known:
            return
        together = self._together.get(batch)
        if together is None:
            if len(self._together) >= MAX_JOINED_BATCHES:
                self._together.pop(next(iter(self._together))).settle()
            together = self._together[batch] = SeriesTogether()
        together.keep(known)

    def forget(self, series: Series) -> None:
        """The server rejected the event: the next repetition starts a new series."""
        if self._book.get(series.key) is series:
            self._remove(series)

    def flush(self, now: float) -> None:
        """Send due counts and remove finished series."""
        for together in self._together.values():
            together.settle()
        self._together.clear()
        for series in list(self._book.values()):
            over = now - series.seen_at > FINISH_AFTER_SECONDS
            due = now - series.reported_at >= REFRESH_SECONDS and series.count > 1
            if series.created and (due or (over and series.count > series.reported)):
                self._report(series, now)
            if over:
                self._remove(series)

    def _remove(self, series: Series) -> None:
        del self._book[series.key]
        if self._latest.get(series.subject) is series:
            del self._latest[series.subject]

    def _report(self, series: Series, now: float) -> None:
        series.reported, series.reported_at = series.count, now
        self._on_report(series)
