"""The page of a running scheduler, served from loopback: requests are forwarded with the credentials of a kubeconfig.

Browsers cannot send bearer tokens with a navigation, so the page and its cookie come from this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import msgspec
from aiohttp import web

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.scheduler.web_source import PAGE_PREFIX
from stowplan.serving.page_server import page_response
from stowplan.serving.pages import Page, PageRequest, Pages, status_page
from stowplan.web.routes import API_PREFIX, add_what_if_pages, compressed
from stowplan.web.what_if import WhatIfHost, WhatIfRuns
from stowplan.web.wire import Hello

_STREAM_SILENCE_SECONDS = 60.0
"""The scheduler sends a comment every 15 s."""
_EVENT_STREAM = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class SchedulerProxy:
    """Forwards reads of the page to a scheduler. Used on the server's event loop only."""

    def __init__(self, connection: Connection, what_if: WhatIfHost | None = None) -> None:
        """`what_if` computes in this process, never in the scheduler."""
        self._connection = connection
        self._runs = None if what_if is None else WhatIfRuns(what_if)
        self._client: Client | None = None

    def add_pages(self, pages: Pages) -> None:
        if self._runs is not None:
            add_what_if_pages(pages, lambda: self._runs)
        pages.add_async(API_PREFIX, self._forward)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _forward(self, request: PageRequest) -> Page:
        if request.method not in ("GET", "HEAD"):
            return status_page(405, "MethodNotAllowed", "a running scheduler answers GET requests only")
        query = {name: values[0] for name, values in request.query.items()}
        try:
            content = await self._opened().get(_path(request.path), query)
        except ClusterError as error:
            return _refusal(error)
        if self._runs is not None and request.path == f"{API_PREFIX}hello":
            hello = msgspec.json.decode(content, type=Hello)
            offered = msgspec.structs.replace(hello, features=[*hello.features, "what-if", "compare"])
            content = msgspec.json.encode(offered)
        return await compressed(request, content)

    async def stream(self, request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
        """Forwards the stream of changes."""
        query = {name: request.query[name] for name in ("since", "pods") if name in request.query}
        if "Last-Event-ID" in request.headers:
            query["since"] = request.headers["Last-Event-ID"]
        try:
            async with self._opened().open_watch(_path(request.path), query, _STREAM_SILENCE_SECONDS) as pieces:
                response = web.StreamResponse(headers={**headers, **_EVENT_STREAM})
                await response.prepare(request)
                try:
                    async for piece in pieces:
                        await response.write(piece)
                except (ClusterError, ConnectionResetError):
                    pass  # The browser connects again, and gets the events that it missed.
                return response
        except ClusterError as error:
            return page_response(_refusal(error), headers)

    def _opened(self) -> Client:
        if self._client is None:
            self._client = Client(self._connection)
        return self._client


def _path(path: str) -> str:
    return PAGE_PREFIX + quote(path.removeprefix(API_PREFIX), safe="/")


def _refusal(error: ClusterError) -> Page:
    """The scheduler's refusal, or 502 if it does not answer."""
    if isinstance(error, ApiError):
        message = error.message or str(error)
        if error.status == 401:
            return status_page(403, "Forbidden", f"the scheduler refuses the credentials of the kubeconfig: {message}")
        return status_page(error.status, "Refused", message)
    return status_page(502, "BadGateway", str(error))
