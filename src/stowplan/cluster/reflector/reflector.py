"""Reflector: lists a kind, then watches it, and delivers every change to a sink.

The first list is streamed by the watch itself where the server supports it (WatchList, on by default from v1.34 on):
the server sends all objects as they are in its cache, a bookmark marks their end, and the changes follow. Other servers
reject the request, and the kind is listed in pages. So are later lists, of which only objects that changed are decoded.

A watch that ends is resumed from the last change. If that resourceVersion has expired, the reflector lists again and
delivers the removal of objects that vanished. Failures are logged and retried with backoff, without end.

Upstream: k8s.io/client-go/tools/cache/reflector.go
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Protocol

from stowplan import logs
from stowplan.api.kinds import Kind
from stowplan.api.meta import ObjectMeta
from stowplan.cluster.client import Client
from stowplan.cluster.discovery import served_versions
from stowplan.cluster.errors import ApiError, ClusterError, ConnectionFailedError, UntrustedServerError
from stowplan.cluster.reflector.known_objects import KnownObjects
from stowplan.cluster.reflector.pager import PAGE_SIZE, is_expired, list_pages
from stowplan.cluster.reflector.watch_frames import (
    Decoder,
    FrameSplitter,
    Item,
    ListMeta,
    MalformedReplyError,
    WatchEvent,
)
from stowplan.cluster.retry import FailureLog, RetryBackoff
from stowplan.cluster.wire import collection_path

UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of pods: a pod that finishes leaves the selection, which its watch delivers as a deletion."""

_WATCH_TIMEOUT_SECONDS = (300, 600)
_WATCH_GRACE_SECONDS = 30
_MIN_WATCH_SECONDS = 1.0
"""A watch that ends sooner without an event has failed."""
_MAX_REJECTED_WATCHES = 3
_INITIAL_EVENTS = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark behind the objects of a streamed list."""

log = logs.get(__name__)


class EventSink(Protocol):
    """Receiver of a reflector's objects. The events of one read arrive in as few calls as their order permits."""

    def put(self, kind: Kind, items: list[Item]) -> None:
        """Objects were added or changed."""
        ...

    def removed(self, kind: Kind, items: list[Any]) -> None:
        """Objects were deleted. Those that vanished between watches have only name, namespace and uid."""
        ...

    def synced(self, kind: Kind) -> None:
        """All objects have been delivered. Called after every list."""
        ...

    def missing(self, kind: Kind) -> None:
        """The server does not serve this kind. The list is retried."""
        ...

    def forbidden(self, kind: Kind, verb: str) -> None:
        """The user may not list or watch this kind. The request is retried."""
        ...


class Reflector:
    """Delivers all objects of one kind to a sink."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        sink: EventSink,
        *,
        field_selector: str = "",
        page: int = PAGE_SIZE,
        keep_objects: bool = False,
        required: bool = False,
        optional: bool = False,
        streams: bool = True,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`required`: a 404 is retried like any failure, and the kind does not count as missing. `optional`: a server
        without the kind is normal, and logged at level 2 only. `streams`: the first list is streamed if the server
        supports it."""
        self.kind = kind
        self._required = required
        self._optional = optional
        self._client = client
        self._sink = sink
        self._field_selector = field_selector
        self._page = page
        self._clock = clock
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._decoder = Decoder(kind, keep_objects=keep_objects)
        self._known = KnownObjects(kind)
        self._backoff = RetryBackoff(clock, self._rng)
        self._absence = RetryBackoff(clock, self._rng, first=30.0, longest=150.0, reset_after=3600.0)
        self._version = ""
        """resourceVersion of the last change; empty while a list is due."""
        self._fresh = True
        """Whether no watch has succeeded since the last list."""
        self._listed_at = clock()
        self._failures = 0
        """Consecutive watches that the server rejected."""
        self._unavailable = ""
        """missing or forbidden, if so reported to the sink."""
        self._streams = streams
        self._streaming = False
        """Whether the events are those of a streamed list."""
        self._failure_log = FailureLog(clock, resource=kind.resource)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            verb = "watch" if self._version else "list"
            try:
                if self._version:
                    await self._watch()
                else:
                    await (self._stream_list() if self._streams else self._list())
            except ClusterError as error:
                if isinstance(error, ApiError) and error.status == 403 and await self._is_unserved():
                    await self._sleep(self._on_missing())
                else:
                    await self._sleep(self._on_failure(verb, error))

    # Listing
    async def _list(self) -> None:
        pages = list_pages(self._client, self.kind, self._decode, field_selector=self._field_selector, page=self._page)
        listed = ""
        async with aclosing(pages):
            async for version, _, items in pages:
                self._deliver(WatchEvent("ADDED", item) for item in items)
                listed = version
        self._on_listed(listed)

    async def _stream_list(self) -> None:
        """A watch that begins with all objects."""
        self._known.start_list()
        self._streaming = True
        try:
            await self._watch()
        except ApiError as error:
            if not self._streaming or error.status == 429 or error.status >= 500:
                raise
            log.v(3, "The API server does not stream lists, listing in pages", resource=self.kind.resource, err=error)
            self._streams = False
        finally:
            self._streaming = False

    def _on_listed(self, version: str) -> None:
        self._streams = self._streaming = False
        self._deliver_vanished()
        self._version, self._fresh, self._failures = version, True, 0
        self._listed_at = self._clock()
        self._failure_log.works("list")
        self._unavailable = ""
        self._sink.synced(self.kind)

    def _decode(self, body: bytes, starts: bool) -> tuple[ListMeta, list[Item]]:
        """A page of a list; of a later list only the objects that changed since."""
        if starts:
            self._known.start_list()
        return self._decoder.page(body, self._known.confirm if self._known.unconfirmed else None)

    def _deliver_vanished(self) -> None:
        if vanished := self._known.end_list():
            self._sink.removed(self.kind, vanished)

    # Watching
    async def _watch(self) -> None:
        """One watch from the last change until it ends. The end of a long watch does not count as a failure."""
        started, version, ended = self._clock(), self._version, ConnectionFailedError("the watch ended at once")
        try:
            await self._follow(self._rng.randint(*_WATCH_TIMEOUT_SECONDS))
        except (UntrustedServerError, MalformedReplyError):
            raise
        except ConnectionFailedError as error:
            ended = error
        if self._version == version and self._clock() - started < _MIN_WATCH_SECONDS:
            raise ended
        self._fresh = False
        log.v(5, "Watch closed", resource=self.kind.resource, err=ended)

    async def _follow(self, seconds: int) -> None:
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        if self._streaming:
            params |= _INITIAL_EVENTS
        if self._field_selector:
            params["fieldSelector"] = self._field_selector
        splitter = FrameSplitter()
        async with self._client.open_watch(
            collection_path(self.kind), params, seconds + _WATCH_GRACE_SECONDS
        ) as pieces:
            self._failure_log.works("watch")
            async for piece in pieces:
                if lines := splitter.feed(piece):
                    self._handle(lines)

    def _handle(self, lines: bytes) -> None:
        """Deliver the events of some frames, up to the first error or malformed one."""
        events: list[WatchEvent] = []
        try:
            for event in self._decoder.frames(lines):
                events.append(event)
                if self._streaming and event.type == "BOOKMARK":
                    self._end_streamed_list(events)
        finally:
            if events:
                self._deliver(events)
                if not self._streaming:
                    self._version = events[-1].item[0].metadata.resource_version or self._version
                    self._fresh, self._failures = False, 0

    def _end_streamed_list(self, events: list[WatchEvent]) -> None:
        """Deliver the last objects of a list if a bookmark marks its end."""
        meta: ObjectMeta = events[-1].item[0].metadata
        if _INITIAL_EVENTS_END in meta.annotations:
            self._deliver(events)
            events.clear()
            self._on_listed(meta.resource_version)

    def _deliver(self, events: Iterable[WatchEvent]) -> None:
        """Put and remove in the order of the events; consecutive ones of a sort in one call."""
        known, kind, sink = self._known, self.kind, self._sink
        put: list[Item] = []
        removed: list[Any] = []
        for type_, item in events:
            meta = item[0].metadata
            if type_ == "BOOKMARK":
                continue
            if type_ == "DELETED":
                known.forget(meta)
                gone = item[0]
            else:
                gone = known.note(meta)
            if gone is not None:
                if put:
                    sink.put(kind, put)
                    put = []
                removed.append(gone)
            if type_ != "DELETED":
                if removed:
                    sink.removed(kind, removed)
                    removed = []
                put.append(item)
        if put:
            sink.put(kind, put)
        if removed:
            sink.removed(kind, removed)

    # Failures
    def _on_failure(self, verb: str, error: ClusterError) -> float:
        """Seconds until the next attempt."""
        if isinstance(error, ApiError):
            return self._on_rejection(verb, error)
        if isinstance(error, MalformedReplyError):
            self._count_failure()
        self._failure_log.failed(verb, error)
        return self._backoff.next()

    def _on_rejection(self, verb: str, error: ApiError) -> float:
        if is_expired(error):
            log.info("Watch expired, listing again", resource=self.kind.resource, err=error.message)
            held, self._version, self._fresh = not self._fresh, "", True
            if held:
                return 0.0
            # The time since the last list counts: after an outage, the next one is due at once.
            waited = self._clock() - self._listed_at if verb == "watch" else 0.0
            return max(self._backoff.next() - waited, 0.0)
        if error.status == 404 and not self._required:
            return self._on_missing()
        if error.status == 403:
            self._version = ""  # If only watching is forbidden, listing repeatedly is the fallback.
            self._report_unavailable("forbidden", lambda: self._sink.forbidden(self.kind, verb))
        elif error.status != 429:
            self._count_failure()
        self._failure_log.failed(verb, error)
        return max(self._backoff.next(), error.retry_after or 0.0)

    async def _is_unserved(self) -> bool:
        """Whether discovery does not list the kind's version: the server checks permissions before it looks for the
        resource, so that a request without permission fails with 403."""
        group, _, version = self.kind.api_version.rpartition("/")
        if self._required or not group:
            return False
        try:
            return version not in await served_versions(self._client, group)
        except ClusterError:
            return False

    def _on_missing(self) -> float:
        self._version = ""
        self._known.start_list()
        self._deliver_vanished()
        if self._unavailable != "missing":
            values = {"resource": self.kind.resource, "apiVersion": self.kind.api_version}
            if self._optional:
                log.v(2, "The API server does not serve this optional resource", **values)
            else:
                log.warning("The API server does not serve this resource, continuing without it", **values)
        self._report_unavailable("missing", lambda: self._sink.missing(self.kind))
        return self._absence.next()

    def _report_unavailable(self, how: str, report: Callable[[], None]) -> None:
        if self._unavailable != how:
            self._unavailable = how
            report()

    def _count_failure(self) -> None:
        """A watch that the server keeps rejecting may start from a bad resourceVersion: list again."""
        self._failures += 1
        if self._failures >= _MAX_REJECTED_WATCHES:
            self._version, self._failures = "", 0
