"""Event recorder: writes events of events.k8s.io/v1.

Upstream: k8s.io/client-go/tools/events/event_recorder.go, k8s.io/client-go/tools/events/event_broadcaster.go
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Hashable

from stowplan import api, logs
from stowplan.cluster import protobuf, wire
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.event_series import FINISH_AFTER_SECONDS, Series, SeriesBook
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.write_client import MAX_CONNECTIONS, ClosedError, Writer, WriteRequest
from stowplan.cluster.writes.api_failures import SUCCESS
from stowplan.framework import EmitEvent, Pod, RepeatEvent

MAX_QUEUED_EVENTS = 10_000
REPEATS_PER_SECOND = 20.0
"""Rate of repeated events, beyond the burst. Each costs as much CPU time as a binding."""
MAX_REPEAT_BURST = 100
MAX_HOLD_SECONDS = 5.0
"""How long an event is held while bindings wait for a connection."""
MAX_ATTEMPTS = 12
RETRY_SECONDS = 10.0

_RETRY_JITTER_SHARE = 0.25
_DRAIN_POLL_SECONDS = 0.005
_DEFERRED_POLL_SECONDS = 0.2
_HOLD_POLL_SECONDS = 0.02
_SCHEDULED = "Scheduled"

log = logs.get(__name__)


class EventRecorder:
    """Sends events through a writer of its own, so that bindings do not wait for them.

    Callers never block: if the queue is full, the oldest event is dropped. While bindings wait for a connection, the
    API server is busy, and events are held for some seconds: a pod starts when it is bound, and an event that costs the
    server as much as a binding can follow.

    Events that repeat one about the same object, and their counts, are limited to a rate: in a full cluster each pod
    that ends leads to a failed attempt of every pending pod, and the API server needs time for bindings. The latest
    event of an object replaces a deferred one; the oldest deferred one is dropped where there are too many.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        version_of: Callable[[Pod], str] = lambda pod: "",
        hostname: str = "",
        clock: Callable[[], float] = time.time,
        max_in_flight: int = MAX_CONNECTIONS,
        max_queued: int = MAX_QUEUED_EVENTS,
        retry_seconds: float = RETRY_SECONDS,
        rng: random.Random | None = None,
        repeats_per_second: float = REPEATS_PER_SECOND,
        max_repeat_burst: int = MAX_REPEAT_BURST,
        bindings_wait: Callable[[], bool] = lambda: False,
        max_hold_seconds: float = MAX_HOLD_SECONDS,
    ) -> None:
        """`bindings_wait` returns whether bindings, or patches in the same queue, wait for a connection."""
        self._writer = writer
        self._bindings_wait = bindings_wait
        self._max_hold_seconds = max_hold_seconds
        self._hold_timer: asyncio.TimerHandle | None = None
        self._version_of = version_of
        self._hostname = hostname or socket.gethostname()
        self._clock = clock
        self._max_in_flight = max_in_flight
        """Concurrent requests; more than the writer's connections would only wait in its queue."""
        self._max_queued = max_queued
        self._retry_seconds = retry_seconds
        self._rng = rng or random.Random()
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_EventRequest] = deque()
        self._sent = 0
        self._delayed = 0
        self._series = SeriesBook(self._report)
        self._series_timer: asyncio.TimerHandle | None = None
        self._repeats = TokenBucket(repeats_per_second, max_repeat_burst, self._loop.time)
        self._deferred: dict[Hashable, Series] = {}
        """Series to create or to count at the server when the limit of repetitions allows it, by subject."""
        self._deferred_timer: asyncio.TimerHandle | None = None
        self._commons: dict[tuple[str, str, str, str], bytes] = {}
        self._micro_time = wire.MicroTime()
        self._last_number = 0
        self._logged_reasons: set[str] = set()
        self.dropped = 0
        """Events dropped because the queue was full."""

    def emit(self, instruction: EmitEvent) -> None:
        """Write an event about a pod."""
        # A pod is bound once, so the most frequent event needs no series.
        self._emit(instruction, self._key(instruction) if instruction.reason != _SCHEDULED else None)

    def _emit(self, instruction: EmitEvent, key: Hashable | None) -> None:
        if key is not None and self._series.count_again(key, self._clock()):
            return
        pod, related = instruction.regarding, instruction.related
        common = self._common(instruction)
        about = (self._reference(pod), b"" if related is None else self._reference(related))
        subject = (common, pod.uid, "" if related is None else related.uid)
        what = (common, *about)
        self._record(pod.namespace.encode(), pod.name, what, instruction.note, key, subject, instruction.is_repeated)

    def repeat(self, instruction: RepeatEvent) -> None:
        """Write events about several pods."""
        pods = tuple(instruction.pods)
        single = self._series.count_together(instruction.batch, pods, self._clock())
        if not single:
            return
        keys: dict[Hashable, Hashable] = {}
        for event in instruction.each(frozenset(single)):
            key = keys[event.regarding] = self._key(event)
            self._emit(event, key)
        self._series.keep_together(instruction.batch, keys)

    def record(self, regarding: api.ObjectReference, controller: str, reason: str, note: str) -> None:
        """Write a normal event about any object."""
        what = (self._reporter(controller, "Normal", reason, reason), wire.reference(regarding), b"")
        if not self._series.count_again(what, self._clock()):
            self._record((regarding.namespace or "default").encode(), regarding.name, what, note, what, what)

    async def drain(self, timeout: float) -> bool:
        """Wait for queued events, then close the writer. Returns whether all were written in time."""
        deadline = self._loop.time() + timeout
        self._max_hold_seconds = 0.0
        self._pump()
        while (self._waiting or self._sent) and self._loop.time() < deadline:
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
        finished = not self._waiting
        for timer in (self._series_timer, self._deferred_timer, self._hold_timer):
            if timer is not None:
                timer.cancel()
        return await self._writer.drain(max(deadline - self._loop.time(), 0.0)) and finished

    # Events
    def _record(
        self,
        namespace: bytes,
        of: str,
        what: tuple[bytes, bytes, bytes],
        note: str,
        key: Hashable | None,
        subject: Hashable,
        is_repeated: bool = False,
    ) -> None:
        """Write an event that belongs to no known series. Without a key, the event never repeats."""
        now = self._clock()
        common, regarding, related = what
        name = self._name(of, now)
        fields = wire.event(name, namespace, now, regarding, related, note, common)
        path = wire.events_path(namespace)
        series = None
        if key is not None:
            series = Series(key, b"%b/%b" % (path, name), fields, now, subject)
            earlier = self._series.add(series)
            self._keep_series_timer()
            if (is_repeated or earlier is not None) and not self._repeats.try_take():
                self._defer(series)
                return
        self._enqueue(_EventRequest(self, b"POST", path, wire.event_body(fields), series))

    def _key(self, instruction: EmitEvent) -> Hashable:
        """Equal for repetitions of an event."""
        pod, related = instruction.regarding, instruction.related
        about = None if related is None else (related.uid, self._version_of(related))
        return self._common(instruction), pod.uid, self._version_of(pod), about

    def _common(self, instruction: EmitEvent) -> bytes:
        # With a related pod, that pod is being scheduled; the regarded one may belong to any scheduler.
        return self._reporter(instruction.reporter, instruction.type, instruction.reason, instruction.action)

    def _reporter(self, controller: str, type_: str, reason: str, action: str) -> bytes:
        key = (controller, type_, reason, action)
        common = self._commons.get(key)
        if common is None:
            common = self._commons[key] = wire.reporter(controller, self._hostname, type_, reason, action)
        return common

    def _reference(self, pod: Pod) -> bytes:
        return wire.pod_reference(pod.namespace, pod.name, pod.uid, self._version_of(pod))

    def _name(self, of: str, now: float) -> bytes:
        """A unique name: the object's name and a number that grows with time."""
        self._last_number = number = max(int(now * 1e9), self._last_number + 1)
        return wire.event_name(of, number)

    # Sending
    def _enqueue(self, request: _EventRequest) -> None:
        if len(self._waiting) + self._delayed >= self._max_queued:
            oldest = self._waiting.popleft() if self._waiting else request
            self.dropped += 1
            self._drop(oldest, "Too many events are queued, dropping the oldest", "QueueFull")
            if oldest is request:
                return
        request.queued_at = self._loop.time()
        self._waiting.append(request)
        self._pump()

    def _pump(self) -> None:
        while self._waiting and self._sent < self._max_in_flight:
            if self._bindings_wait() and self._may_hold():
                if self._hold_timer is None:
                    self._hold_timer = self._loop.call_later(_HOLD_POLL_SECONDS, self._end_hold)
                return
            self._sent += 1
            self._writer.submit(self._waiting.popleft())

    def _may_hold(self) -> bool:
        """Whether the first event can wait longer."""
        age = self._loop.time() - self._waiting[0].queued_at
        return age < self._max_hold_seconds and len(self._waiting) * 2 < self._max_queued

    def _end_hold(self) -> None:
        self._hold_timer = None
        self._pump()

    def _report(self, series: Series) -> None:
        """Send the count of a series, as soon as the limit allows it."""
        if self._repeats.try_take():
            self._send_series(series)
        else:
            self._defer(series)

    def _send_series(self, series: Series) -> None:
        """Create the event with its count, or patch the count."""
        series.deferred = False
        series.reported = series.count
        if series.created:
            request = _EventRequest(self, b"PATCH", series.path, series.patch(self._micro_time), series)
        else:
            request = _EventRequest(self, b"POST", series.collection, wire.event_body(series.fields()), series)
        self._enqueue(request)

    # Repetitions beyond the limit
    def _defer(self, series: Series) -> None:
        earlier = self._deferred.get(series.subject)
        if earlier is None and len(self._deferred) >= self._max_queued:
            earlier = self._deferred.pop(next(iter(self._deferred)))
            self._series.forget(earlier)
            self.dropped += 1
        if earlier is not None:
            earlier.deferred = False
        series.deferred = True
        self._deferred[series.subject] = series
        self._keep_deferred_timer()

    def _keep_deferred_timer(self) -> None:
        if self._deferred_timer is None:
            self._deferred_timer = self._loop.call_later(_DEFERRED_POLL_SECONDS, self._send_deferred)

    def _send_deferred(self) -> None:
        self._deferred_timer = None
        while self._deferred and self._repeats.try_take():
            self._send_series(self._deferred.pop(next(iter(self._deferred))))
        if self._deferred:
            self._keep_deferred_timer()

    def _keep_series_timer(self) -> None:
        if self._series_timer is None:
            self._series_timer = self._loop.call_later(FINISH_AFTER_SECONDS, self._flush_series)

    def _flush_series(self) -> None:
        self._series_timer = None
        self._series.flush(self._clock())
        if self._series:
            self._keep_series_timer()

    # Outcomes
    def replied(self, request: _EventRequest, status: int, body: bytes) -> None:
        self._sent -= 1
        series = request.series
        if status >= SUCCESS:
            self._refused(request, ApiError.from_reply(status, body))
        elif series is not None and not series.created:
            self._series.created(series, self._clock())
        self._pump()

    def _refused(self, request: _EventRequest, error: ApiError) -> None:
        series = request.series
        if series is not None and request.method == b"PATCH" and error.reason == "NotFound":
            # The event has expired at the server; create it again, with the count.
            series.created = False
            self._send_series(series)
        elif error.reason != "AlreadyExists":
            self._drop(request, "Server rejected event (will not retry!)", error.reason, error.message)
        elif series is not None:
            self._series.created(series, self._clock())  # Created by a request whose reply was lost.

    def lost(self, request: _EventRequest, error: ClusterError) -> None:
        self._sent -= 1
        request.attempts += 1
        if isinstance(error, ClosedError) or request.attempts >= MAX_ATTEMPTS:
            self._drop(request, "Unable to write event (retry limit exceeded!)", "RetryLimit", str(error))
        else:
            self._delayed += 1
            pause = self._retry_seconds * (1 + _RETRY_JITTER_SHARE * self._rng.random())
            self._loop.call_later(pause, self._retry, request)
        self._pump()

    def _retry(self, request: _EventRequest) -> None:
        self._delayed -= 1
        self._enqueue(request)

    def _drop(self, request: _EventRequest, message: str, reason: str, error: str | None = None) -> None:
        """Logged once per reason: a failure of one event is followed by the same failure of thousands."""
        if request.series is not None:
            self._series.forget(request.series)
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            log.error(error, message, path=request.path.decode(), reason=reason)


class _EventRequest(WriteRequest):
    __slots__ = ("_recorder", "attempts", "queued_at", "series")

    accept = protobuf.MEDIA_TYPE

    def __init__(self, recorder: EventRecorder, method: bytes, path: bytes, body: bytes, series: Series | None) -> None:
        super().__init__(method, path, body, protobuf.MEDIA_TYPE if method == b"POST" else wire.STRATEGIC_MERGE_PATCH)
        self._recorder = recorder
        self.series = series
        self.attempts = 0
        self.queued_at = 0.0

    def replied(self, status: int, body: bytes) -> None:
        self._recorder.replied(self, status, body)

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._recorder.lost(self, error)
