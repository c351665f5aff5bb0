"""Serving `Pages` through aiohttp, on an event loop on a thread of its own.

Handlers of pages never wait for the scheduling loop, so health and metrics are served while a plugin blocks that loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from stowplan import logs
from stowplan.errors import ConfigError, StowplanError
from stowplan.serving.connections import ConnectionLimits, Connections, PageConnection, default_limits
from stowplan.serving.loopback import MISDIRECTED, foreign_host, is_loopback
from stowplan.serving.pages import Page, PageRequest, Pages, status_page

log = logs.get(__name__)

SHUTDOWN_SECONDS = 0.5
"""For requests in progress at the end. A longer one waits for an API server that does not answer."""

_MAX_BODY_BYTES = 64 * 1024
_COMPRESS_FROM_BYTES = 4096
_BODY_SECONDS = 32.0
_TOO_LARGE = status_page(413, "RequestEntityTooLarge", "Request body is too large")
_INTERNAL_ERROR = status_page(500, "InternalError", "an unexpected error occurred; the server's log has the details")
_TOO_SLOW = status_page(408, "Timeout", "Request body did not arrive in time")

Respond = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def read_page(pages: Pages, request: web.BaseRequest, max_body_bytes: int = _MAX_BODY_BYTES) -> Page:
    """Run the handler of the request's path."""
    body = b""
    if request.can_read_body:
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while len(body) < max_body_bytes and (part := await request.content.read(max_body_bytes - len(body))):
                    body += part
        except TimeoutError:
            return _TOO_SLOW
        if not request.content.at_eof():
            return _TOO_LARGE
    query = parse_qs(request.query_string, keep_blank_values=True)
    wanted = PageRequest(request.method, request.path, query, request.headers.get("Accept", ""), body, request.headers)
    waiting = pages.find_async(wanted.path)
    if waiting is not None:
        return await waiting(wanted)
    handler = pages.find(wanted.path)
    if handler is None:
        return pages.not_found(wanted)
    return await asyncio.to_thread(handler, wanted) if pages.is_blocking(handler) else handler(wanted)


def page_response(page: Page, headers: Mapping[str, str]) -> web.Response:
    response = web.Response(
        body=page.content, status=page.status, headers={**headers, "Content-Type": page.content_type, **page.headers}
    )
    if len(page.content) > _COMPRESS_FROM_BYTES and "Content-Encoding" not in page.headers:
        response.enable_compression()
    return response


def _refusing_foreign_hosts(respond: Respond, allowed: Collection[str]) -> Respond:
    async def checked(request: web.BaseRequest) -> web.StreamResponse:
        if not is_loopback(request.get_extra_info("sockname")):
            return await respond(request)
        why = foreign_host(request.headers.get("Host", ""), request.headers.get("Origin", ""), allowed)
        return await respond(request) if why is None else page_response(Page(MISDIRECTED, f"{why}\n".encode()), {})

    return checked


def _reporting_bugs(respond: Respond, headers: Mapping[str, str]) -> Respond:
    """An unexpected exception becomes one line of the log and a response without details."""
    warn = logs.RepeatedWarning(log, "Unexpected problem of a request")

    async def reported(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await respond(request)
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as bug:
            # The query is left out: it may have a token.
            warn(method=request.method, path=request.path, err=repr(bug), stacktrace=logs.stack_trace(bug))
            if request.writer.output_size and request.transport is not None:
                request.transport.close()  # A response has begun, and cannot be taken back.
            return page_response(_INTERNAL_ERROR, headers)

    return reported


def _marking_begin(respond: Respond) -> Respond:
    async def marked(request: web.BaseRequest) -> web.StreamResponse:
        if isinstance(request.protocol, PageConnection):
            request.protocol.begin_request()
        return await respond(request)

    return marked


@asynccontextmanager
async def serve(
    listener: socket.socket,
    respond: Respond,
    tls: ssl.SSLContext | None = None,
    limits: ConnectionLimits | None = None,
    allowed_hosts: Collection[str] | None = (),
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[None]:
    """Serve HTTP on a listening socket and the running event loop, until the end of the context.

    `allowed_hosts` are names by which a loopback address may be called, besides localhost; None if `respond` checks the
    host. `headers` are those of the response to a request whose handler has a bug.
    """
    if allowed_hosts is not None:
        respond = _refusing_foreign_hosts(respond, allowed_hosts)
    server = web.Server(_marking_begin(_reporting_bugs(respond, headers or {})))
    connections = Connections(listener, server, tls, limits or default_limits())
    connections.start()
    try:
        yield
    finally:
        await connections.stop()
        server.pre_shutdown()
        await server.shutdown(SHUTDOWN_SECONDS)


class PageServer:
    """A server thread. A subclass listens in `start` and serves in `_serve`."""

    def __init__(self, name: str, limits: ConnectionLimits | None = None) -> None:
        """`limits` hold for each listening socket; by default `default_limits()` when the server starts."""
        self._name = name
        self._limits = limits
        self._warn_of_loop_error = logs.RepeatedWarning(log, "Unexpected problem of a server")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._problem: StowplanError | None = None
        self._thread: threading.Thread | None = None

    def stop(self) -> None:
        """Close the socket, finish requests in progress, and wait for that."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        with suppress(RuntimeError):  # The loop may have ended by itself.
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(2 * SHUTDOWN_SECONDS)

    def _start_thread(self) -> None:
        """Raises the StowplanError with which `_serve` ended before it called `_ready`."""
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),), name=self._name, daemon=True)
        self._thread.start()
        self._started.wait()
        if self._problem is not None:
            raise self._problem

    def _ready(self) -> None:
        """`_serve` calls this when the server accepts requests."""
        self._started.set()

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(self._on_loop_error)
        try:
            await self._serve(self._stopping)
        except StowplanError as problem:
            self._problem = problem
        except Exception as bug:
            self._problem = ConfigError(f"failed to start {self._name} server: {type(bug).__name__}: {bug}")
            raise
        finally:
            self._started.set()

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        problem = context.get("exception")
        trace = {} if problem is None else {"stacktrace": logs.stack_trace(problem)}
        self._warn_of_loop_error(server=self._name, err=problem or context["message"], **trace)

    async def _serve(self, stopping: asyncio.Event) -> None:
        raise NotImplementedError
