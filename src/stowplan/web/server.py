"""The server of `stowplan web`: the page, its data and its stream, on one listening socket."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from stowplan.serving.page_server import PageServer, page_response, read_page, serve
from stowplan.serving.pages import Pages
from stowplan.web.access import SECURITY_HEADERS, PageAccess, Visit
from stowplan.web.routes import API_PREFIX

MAX_BODY_BYTES = 1024 * 1024
EVENTS_PATH = f"{API_PREFIX}events"

Stream = Callable[[web.BaseRequest, Mapping[str, str]], Awaitable[web.StreamResponse]]


class WebServer(PageServer):
    """Serves pages from `start` to `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        pages: Pages,
        stream: Stream,
        access: PageAccess,
        tls: ssl.SSLContext | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`close` is awaited at the end, on the server's event loop."""
        super().__init__("web")
        self._stream = stream
        self._listener = listener
        self._pages = pages
        self._access = access
        self._tls = tls
        self._close = close

    def start(self) -> None:
        """Raises ConfigError."""
        self._start_thread()

    async def _serve(self, stopping: asyncio.Event) -> None:
        async with serve(self._listener, self._respond, self._tls, self._limits, None, SECURITY_HEADERS):
            self._ready()
            await stopping.wait()
        if self._close is not None:
            await self._close()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        visit = Visit(request.method, request.path, request.query_string, request.headers)
        page = self._access.answer(visit)
        if page is None and request.path == EVENTS_PATH:
            return await self._stream(request, SECURITY_HEADERS)
        if page is None:
            page = await read_page(self._pages, request, MAX_BODY_BYTES)
        return page_response(page, SECURITY_HEADERS)
