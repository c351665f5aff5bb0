"""Feeds: what there is of a kind, and from then on every change, told to a sink.

A feed lists its kind, watches from where the list ended, and resumes a watch that breaks off from the last change that
it told. Only if the server no longer remembers that far does it list again; it then tells what has vanished meanwhile.
It never gives up: whatever fails is tried again, with growing waits, and told.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

from stowplan import logs
from stowplan.api.kinds import Kind
from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError, ClusterError, ConnectionFailedError, UntrustedServerError
from stowplan.cluster.reflector.known_objects import KnownObjects
from stowplan.cluster.reflector.pager import PAGE, is_expired, list_pages
from stowplan.cluster.reflector.watch_frames import Decoder, FrameSplitter, Item, MalformedReplyError, WatchEvent
from stowplan.cluster.retry import FailureLog, RetryBackoff
from stowplan.cluster.wire import collection_path

UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector for pods: a pod that finishes leaves the selection, which its watch tells as a deletion."""

_WATCH_SECONDS = (300, 600)
_GRACE_SECONDS = 30
_SHORT_SECONDS = 1.0
"""A watch that ends sooner, and tells nothing, has failed."""
_TRIES_BEFORE_RELIST = 3

log = logs.get(__name__)


class EventSink(Protocol):
    """Where a feed ends. All that one read from the socket brings comes in as few calls as its order allows."""

    def put(self, kind: Kind, items: list[Item]) -> None:
        """Objects were added or changed."""
        ...

    def removed(self, kind: Kind, items: list[Any]) -> None:
        """Objects are gone. Of those that vanished while nobody watched only name, namespace and uid are there."""
        ...

    def synced(self, kind: Kind) -> None:
        """All that there is has been told. Comes again after every list."""
        ...

    def missing(self, kind: Kind) -> None:
        """The server does not have this kind. It is looked for again."""
        ...

    def forbidden(self, kind: Kind, verb: str) -> None:
        """We may not list or watch this kind. It is tried again."""
        ...


class Reflector:
    """Tells a sink about all objects of one kind."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        sink: EventSink,
        *,
        field_selector: str = "",
        page: int = PAGE,
        keep_objects: bool = False,
        required: bool = False,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """A kind that is `required` is there, whatever the server says: not to find it is a failure like any other."""
        self.kind = kind
        self._required = required
        self._client = client
        self._sink = sink
        self._field_selector = field_selector
        self._page = page
        self._clock = clock
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._decoder = Decoder(kind, keep_objects=keep_objects)
        self._memory = KnownObjects(kind)
        self._backoff = RetryBackoff(clock, self._rng)
        self._absence = RetryBackoff(clock, self._rng, first=30.0, longest=150.0, reset_after=3600.0)
        self._version = ""
        """The last change told; empty while a list is due."""
        self._fresh = True
        """Whether no watch has held since the last list."""
        self._failures = 0
        """Watches in a row that failed with an answer from the server."""
        self._unavailable = ""
        """Whether the kind is known to the sink as missing or forbidden."""
        self._reports = FailureLog(clock, resource=kind.resource)

    async def run(self) -> None:
        """Feed the sink until cancelled."""
        while True:
            verb = "watch" if self._version else "list"
            try:
                await (self._watch() if self._version else self._list())
            except ClusterError as error:
                await self._sleep(self._on_failure(verb, error))

    # Listing
    async def _list(self) -> None:
        pages = list_pages(self._client, self.kind, self._decoder, field_selector=self._field_selector, page=self._page)
        listed = ""
        async with aclosing(pages):
            async for version, starts, items in pages:
                if starts:
                    self._memory.start_list()
                self._tell(WatchEvent("ADDED", item) for item in items)
                listed = version
        self._tell_vanished()
        self._version, self._fresh, self._failures = listed, True, 0
        self._reports.works("list")
        self._unavailable = ""
        self._sink.synced(self.kind)

    def _tell_vanished(self) -> None:
        if vanished := self._memory.end_list():
            self._sink.removed(self.kind, vanished)

    # Watching
    async def _watch(self) -> None:
        """One watch, from the last change told until it ends. One that held for a while may break off at any time."""
        started, version, ended = self._clock(), self._version, ConnectionFailedError("the watch ended at once")
        try:
            await self._follow(self._rng.randint(*_WATCH_SECONDS))
        except (UntrustedServerError, MalformedReplyError):
            raise
        except ConnectionFailedError as error:
            ended = error
        if self._version == version and self._clock() - started < _SHORT_SECONDS:
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
        if self._field_selector:
            params["fieldSelector"] = self._field_selector
        splitter = FrameSplitter()
        async with self._client.open_watch(collection_path(self.kind), params, seconds + _GRACE_SECONDS) as pieces:
            self._reports.works("watch")
            async for piece in pieces:
                if lines := splitter.feed(piece):
                    self._take(lines)

    def _take(self, lines: list[bytes]) -> None:
        """Tell what is in some frames, up to the first that is an error or malformed."""
        events: list[WatchEvent] = []
        try:
            for event in self._decoder.frames(lines):
                events.append(event)  # noqa: PERF402  # those before a bad one count
        finally:
            if events:
                self._tell(events)
                self._version = events[-1].item[0].metadata.resource_version or self._version
                self._fresh, self._failures = False, 0

    def _tell(self, events: Iterable[WatchEvent]) -> None:
        """Put and remove in the order of the events, those of a sort that follow each other in one call."""
        for is_removal, changes in groupby(self._changes(events), itemgetter(0)):
            tell = self._sink.removed if is_removal else self._sink.put
            tell(self.kind, [change for _, change in changes])

    def _changes(self, events: Iterable[WatchEvent]) -> Iterator[tuple[bool, Any]]:
        for type_, item in events:
            meta = item[0].metadata
            if type_ == "DELETED":
                self._memory.forget(meta)
                yield True, item[0]
            elif type_ != "BOOKMARK":
                replaced = self._memory.note(meta)
                if replaced is not None:
                    yield True, replaced
                yield False, item

    # Failing
    def _on_failure(self, verb: str, error: ClusterError) -> float:
        """The seconds to wait before the next try."""
        if isinstance(error, ApiError):
            return self._on_refusal(verb, error)
        if isinstance(error, MalformedReplyError):
            self._count_failure()
        self._reports.failed(verb, error)
        return self._backoff.next()

    def _on_refusal(self, verb: str, error: ApiError) -> float:
        if is_expired(error):
            log.info("Watch expired, listing again", resource=self.kind.resource, err=error.message)
            held, self._version, self._fresh = not self._fresh, "", True
            return 0.0 if held else self._backoff.next()
        if error.status == 404 and not self._required:
            return self._on_missing()
        if error.status == 403:
            self._version = ""  # where only watching is forbidden, listing now and then is the next best
            self._tell_unavailable("forbidden", lambda: self._sink.forbidden(self.kind, verb))
        elif error.status != 429:
            self._count_failure()
        self._reports.failed(verb, error)
        return max(self._backoff.next(), error.retry_after or 0.0)

    def _on_missing(self) -> float:
        self._version = ""
        self._memory.start_list()
        self._tell_vanished()
        if self._unavailable != "missing":
            log.warning(
                "The API server does not serve this resource, continuing without it",
                resource=self.kind.resource,
                apiVersion=self.kind.api_version,
            )
        self._tell_unavailable("missing", lambda: self._sink.missing(self.kind))
        return self._absence.next()

    def _tell_unavailable(self, how: str, tell: Callable[[], None]) -> None:
        if self._unavailable != how:
            self._unavailable = how
            tell()

    def _count_failure(self) -> None:
        """A watch that keeps failing with an answer may do so because of where it starts."""
        self._failures += 1
        if self._failures >= _TRIES_BEFORE_RELIST:
            self._version, self._failures = "", 0
