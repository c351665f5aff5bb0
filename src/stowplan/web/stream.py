"""The stream of changes: server-sent events, one connection for each tab.

One task refreshes the columns for all streams while there are any. A client that does not read gets the changes since
its last event merged: a stream writes only when the connection takes more.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic

from aiohttp import web

from stowplan import logs
from stowplan.errors import StowplanError
from stowplan.serving.insight_pages import problem_page
from stowplan.serving.page_server import page_response
from stowplan.serving.pages import status_page
from stowplan.web.access import SECURITY_HEADERS
from stowplan.web.source import StateSource

log = logs.get(__name__)

MAX_STREAMS = 32
BATCH_SECONDS = 0.25
KEEP_ALIVE_SECONDS = 15.0
_CHECK_SECONDS = 1.0
"""Between two checks of whether the client is still there."""
_QUEUE_SECONDS = 1.0
_PENDING_SECONDS = 2.0
_UNSENT_BYTES = 64 * 1024
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_RETRY = b"retry: 2000\n\n"
_KEEP_ALIVE = b": \n\n"


class StreamHub:
    """The streams of one source. Used on the server's event loop only."""

    def __init__(self, source: StateSource, batch_seconds: float = BATCH_SECONDS) -> None:
        self._source = source
        self._batch_seconds = batch_seconds
        self._streams = 0
        self._changed = asyncio.Event()
        self._ticking: asyncio.Task[None] | None = None
        self._grouping: asyncio.Task[None] | None = None
        self._warn = logs.RepeatedWarning(log, "Failed to refresh the page")

    async def respond(self, request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
        """Streams changes until the client or the server ends."""
        if request.method != "GET":
            return page_response(status_page(405, "MethodNotAllowed", "the method is not allowed; use GET"), headers)
        if self._streams >= MAX_STREAMS:
            page = status_page(503, "ServiceUnavailable", f"{MAX_STREAMS} streams are open")
            return page_response(page._replace(headers={"Retry-After": "5"}), headers)
        self._streams += 1
        try:
            await self._source.refresh(self._batch_seconds)
            self._start()
            return await self._stream(request, headers)
        except StowplanError as problem:
            return page_response(problem_page(problem), headers)
        finally:
            self._streams -= 1

    async def _stream(self, request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
        response = web.StreamResponse(headers={**headers, **SECURITY_HEADERS, **_HEADERS})
        await response.prepare(request)
        if request.transport is not None:
            request.transport.set_write_buffer_limits(high=_UNSENT_BYTES)
            connection = request.transport.get_extra_info("socket")
            if connection is not None:
                # The kernel would hold back megabytes of events for a client that does not read.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT_BYTES)
        mirror, pods = self._source.mirror, request.query.get("pods") == "1"
        revision = self._known(request.headers.get("Last-Event-ID") or request.query.get("since", ""))
        with suppress(ConnectionResetError):
            await response.write(_RETRY)
            written = monotonic()
            while request.transport is not None:  # None once the client is gone.
                events = b"" if revision == mirror.revision else mirror.events_after(revision, pods=pods)
                revision = mirror.revision
                if not events and monotonic() - written >= KEEP_ALIVE_SECONDS:
                    events = _KEEP_ALIVE
                if events:
                    await response.write(events)
                    written = monotonic()
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CHECK_SECONDS):
                        await self._changed.wait()
        return response

    def _known(self, event_id: str) -> int:
        """The revision that a client has; the present one for a client without any."""
        mirror = self._source.mirror
        if not event_id:
            return mirror.revision
        epoch, _, revision = event_id.rpartition("-")
        return int(revision) if epoch == mirror.epoch and revision.isdecimal() and len(revision) < 16 else -1

    def _start(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        """Refreshes the columns while there are streams."""
        queue_due = pending_due = 0.0
        mirror = self._source.mirror
        while self._streams:
            before, now = mirror.revision, monotonic()
            try:
                await self._source.refresh()
                if now >= queue_due:
                    queue_due = now + _QUEUE_SECONDS
                    await self._source.refresh_queue()
                if now >= pending_due and (self._grouping is None or self._grouping.done()):
                    pending_due = now + _PENDING_SECONDS
                    self._grouping = asyncio.create_task(self._group())
            except Exception as problem:
                self._report(problem)
            if mirror.revision != before or self._grouping is not None:
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            await asyncio.sleep(self._batch_seconds)

    async def _group(self) -> None:
        """Refreshes the list of pending pods, which may take longer than a batch."""
        try:
            await self._source.refresh_pending()
        except Exception as problem:
            self._report(problem)

    def _report(self, problem: Exception) -> None:
        """Logs a failed refresh; the next one is still tried. The stack trace is logged for bugs."""
        trace = {} if isinstance(problem, StowplanError) else {"stacktrace": logs.stack_trace(problem)}
        self._warn(err=str(problem) or repr(problem), **trace)
