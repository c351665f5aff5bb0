"""Tells the owners of pods what happened to them, by events of events.k8s.io/v1."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections import deque
from collections.abc import Callable

from stowplan import api, logs
from stowplan.cluster import protobuf, wire
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.event_series import FINISH_AFTER, Series, SeriesBook
from stowplan.cluster.write_client import MAX_CONNECTIONS, ClosedError, Writer, WriteRequest
from stowplan.cluster.writes.api_failures import SUCCESS
from stowplan.framework import EmitEvent, Pod

MOST_WAITING = 10_000
MOST_ATTEMPTS = 12
TRY_AGAIN_AFTER = 10.0

_JITTER = 0.25
_LOOK_EVERY = 0.005
_SCHEDULED = "Scheduled"

log = logs.get(__name__)


class EventRecorder:
    """Sends events through a writer, best one of its own, so that nothing else waits for them.

    Nobody is kept waiting: an event that finds no room pushes out the oldest of those that wait.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        version_of: Callable[[Pod], str] = lambda pod: "",
        hostname: str = "",
        clock: Callable[[], float] = time.time,
        at_once: int = MAX_CONNECTIONS,
        most_waiting: int = MOST_WAITING,
        try_again_after: float = TRY_AGAIN_AFTER,
        rng: random.Random | None = None,
    ) -> None:
        self._writer = writer
        self._version_of = version_of
        self._hostname = hostname or socket.gethostname()
        self._clock = clock
        self._at_once = at_once
        """How many are sent at a time; more than the writer has connections would only wait elsewhere."""
        self._most_waiting = most_waiting
        self._try_again_after = try_again_after
        self._rng = rng or random.Random()
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_EventExchange] = deque()
        self._sent = 0
        self._asleep = 0
        self._series = SeriesBook(self._report)
        self._looking_over: asyncio.TimerHandle | None = None
        self._commons: dict[tuple[str, str, str, str], bytes] = {}
        self._micro_time = wire.MicroTime()
        self._last_number = 0
        self._logged_reasons: set[str] = set()
        self.dropped = 0
        """Events that had to make room for later ones."""

    def emit(self, instruction: EmitEvent) -> None:
        """Have an event about a pod written."""
        pod, related, reason = instruction.regarding, instruction.related, instruction.reason
        # Where there is another pod, it is that one which is being scheduled; this one may be anybody's.
        controller = instruction.reporter
        common = self._common(controller, instruction.type, reason, instruction.action)
        # A pod is bound only once, so the most frequent of all events need not be remembered.
        what = (common, self._reference(pod), b"" if related is None else self._reference(related))
        self._record(pod.namespace.encode(), pod.name, what, instruction.note, repeatable=reason != _SCHEDULED)

    def record(self, regarding: api.ObjectReference, controller: str, reason: str, note: str) -> None:
        """Have a normal event about any object written."""
        what = (self._common(controller, "Normal", reason, reason), wire.reference(regarding), b"")
        self._record((regarding.namespace or "default").encode(), regarding.name, what, note, repeatable=True)

    async def drain(self, timeout: float) -> bool:
        """Let the events go out that can go, then close the writer; whether there was time."""
        deadline = self._loop.time() + timeout
        while (self._waiting or self._sent) and self._loop.time() < deadline:
            await asyncio.sleep(_LOOK_EVERY)
        finished = not self._waiting
        if self._looking_over is not None:
            self._looking_over.cancel()
        return await self._writer.drain(max(deadline - self._loop.time(), 0.0)) and finished

    # Making an event
    def _record(self, namespace: bytes, of: str, what: tuple[bytes, bytes, bytes], note: str, repeatable: bool) -> None:
        now = self._clock()
        if repeatable and self._series.saw_again(what, now):
            return
        common, regarding, related = what
        name = self._name(of, now)
        fields = wire.event(name, namespace, now, regarding, related, note, common)
        path = wire.events_path(namespace)
        series = None
        if repeatable:
            series = Series(what, b"%b/%b" % (path, name), fields, now)
            self._series.add(series)
            self._keep_looking_over()
        self._enqueue(_EventExchange(self, b"POST", path, wire.event_body(fields), series))

    def _common(self, controller: str, type_: str, reason: str, action: str) -> bytes:
        key = (controller, type_, reason, action)
        common = self._commons.get(key)
        if common is None:
            common = self._commons[key] = wire.reporter(controller, self._hostname, type_, reason, action)
        return common

    def _reference(self, pod: Pod) -> bytes:
        return wire.pod_reference(pod.namespace, pod.name, pod.uid, self._version_of(pod))

    def _name(self, of: str, now: float) -> bytes:
        """A name that no other event has: that of the pod, and a number that grows with time."""
        self._last_number = number = max(int(now * 1e9), self._last_number + 1)
        return wire.event_name(of, number)

    # Sending
    def _enqueue(self, exchange: _EventExchange) -> None:
        if len(self._waiting) + self._asleep >= self._most_waiting:
            oldest = self._waiting.popleft() if self._waiting else exchange
            self.dropped += 1
            self._drop(oldest, "Too many events are queued, dropping the oldest", "QueueFull")
            if oldest is exchange:
                return
        self._waiting.append(exchange)
        self._pump()

    def _pump(self) -> None:
        while self._waiting and self._sent < self._at_once:
            self._sent += 1
            self._writer.submit(self._waiting.popleft())

    def _report(self, series: Series) -> None:
        """Tell the server how often an event has been seen by now."""
        self._enqueue(_EventExchange(self, b"PATCH", series.path, series.patch(self._micro_time), series))

    def _keep_looking_over(self) -> None:
        if self._looking_over is None:
            self._looking_over = self._loop.call_later(FINISH_AFTER, self._look_over)

    def _look_over(self) -> None:
        self._looking_over = None
        self._series.look_over(self._clock())
        if self._series:
            self._keep_looking_over()

    # What becomes of it
    def replied(self, exchange: _EventExchange, status: int, body: bytes) -> None:
        self._sent -= 1
        series = exchange.series
        if status >= SUCCESS:
            self._refused(exchange, ApiError.from_reply(status, body))
        elif series is not None and not series.created:
            self._series.created(series, self._clock())
        self._pump()

    def _refused(self, exchange: _EventExchange, error: ApiError) -> None:
        series = exchange.series
        if series is not None and exchange.method == b"PATCH" and error.reason == "NotFound":
            # The server has discarded the event since. It may have another one made of it, with the count.
            body = wire.event_body(series.fields())
            self._enqueue(_EventExchange(self, b"POST", series.collection, body, series))
        elif error.reason != "AlreadyExists":
            self._drop(exchange, "Server rejected event (will not retry!)", error.reason, error.message)
        elif series is not None:
            self._series.created(series, self._clock())  # by a request whose reply was lost

    def lost(self, exchange: _EventExchange, error: ClusterError) -> None:
        self._sent -= 1
        exchange.attempts += 1
        if isinstance(error, ClosedError) or exchange.attempts >= MOST_ATTEMPTS:
            self._drop(exchange, "Unable to write event (retry limit exceeded!)", "RetryLimit", str(error))
        else:
            self._asleep += 1
            pause = self._try_again_after * (1 + _JITTER * self._rng.random())
            self._loop.call_later(pause, self._try_again, exchange)
        self._pump()

    def _try_again(self, exchange: _EventExchange) -> None:
        self._asleep -= 1
        self._enqueue(exchange)

    def _drop(self, exchange: _EventExchange, message: str, reason: str, error: str | None = None) -> None:
        """Logged once per reason: a failure of one event is followed by the same failure of thousands."""
        if exchange.series is not None:
            self._series.forget(exchange.series)
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            log.error(error, message, path=exchange.path.decode(), reason=reason)


class _EventExchange(WriteRequest):
    __slots__ = ("_recorder", "attempts", "series")

    accept = protobuf.MEDIA_TYPE

    def __init__(self, recorder: EventRecorder, method: bytes, path: bytes, body: bytes, series: Series | None) -> None:
        super().__init__(method, path, body, protobuf.MEDIA_TYPE if method == b"POST" else wire.STRATEGIC_MERGE_PATCH)
        self._recorder = recorder
        self.series = series
        self.attempts = 0

    def replied(self, status: int, body: bytes) -> None:
        self._recorder.replied(self, status, body)

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._recorder.lost(self, error)
