"""The server for health, metrics and their like: HTTPS on a thread of its own.

Nothing that it does waits for the scheduling loop, so it answers also while a plugin holds that up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from stowplan import logs
from stowplan.cluster.errors import ClusterError
from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.errors import ConfigError, StowplanError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.access_control import AccessControl
from stowplan.serving.authn import look_up_client_authorities
from stowplan.serving.certificates import ServerTLS
from stowplan.serving.listening import listen
from stowplan.serving.pages import Page, PageRequest, Pages, status_page
from stowplan.serving.reviews import ApiClient

log = logs.get(__name__)

_LARGEST_BODY = 64 * 1024
_WORTH_COMPRESSING = 4096
_SHUTDOWN_SECONDS = 0.5
"""For what is being answered at the end: all that takes longer waits for an API server that does not answer."""
_REFRESH_SECONDS = 60.0
_LOOK_SECONDS, _FIRST_LOOK_SECONDS = 10.0, 2.0
"""How long a look at the cluster's authorities may take. The first one holds up the start, and can be made up for."""
_IDLE_SECONDS = 90.0

_HEADERS = {"Cache-Control": "no-cache, private", "Server": "stowplan"}
_TOO_LARGE = status_page(413, "RequestEntityTooLarge", "Request body is too large")


class Clients(NamedTuple):
    """Whom to ask about visitors; None where there is nobody to ask."""

    authentication: ApiClient | None = None
    authorization: ApiClient | None = None


class SecureServer:
    """Serves pages from `start` to `stop`."""

    def __init__(
        self,
        serving: ServingOptions,
        access: AccessOptions,
        pages: Pages,
        metrics: AccessMetrics,
        connect: Callable[[], Clients] = Clients,
    ) -> None:
        """`connect` is called on the server's thread, whose event loop the clients then belong to."""
        self._serving = serving
        self._access = access
        self._pages = pages
        self._metrics = metrics
        self._connect = connect
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._began = threading.Event()
        self._problem: StowplanError | None = None
        self._thread: threading.Thread | None = None
        self.port = 0
        """The port that is listened on, once started."""

    def start(self) -> None:
        """Listen. Raises ConfigError if the port is taken or the certificates are no good."""
        tls = ServerTLS(self._serving, self._access.client_ca_file)
        listener = listen(self._serving)
        self.port = listener.getsockname()[1]
        run = self._run(tls, lambda runner: web.SockSite(runner, listener, ssl_context=tls.context))
        self._thread = threading.Thread(target=asyncio.run, args=(run,), name="serving", daemon=True)
        self._thread.start()
        self._began.wait()
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """Stop listening, finish what is being answered, and return when that is over."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        with suppress(RuntimeError):  # It may have ended by itself.
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(2 * _SHUTDOWN_SECONDS)
        log.info("[graceful-termination] secure server is exiting")

    async def _run(self, tls: ServerTLS, site: Callable[[web.ServerRunner], web.SockSite]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with _open(self._connect) as clients, self._serve(clients, site):
                tolerant = self._access.tolerate_lookup_failure
                await self._look_up_authorities(tls, clients, _FIRST_LOOK_SECONDS if tolerant else _LOOK_SECONDS)
                self._began.set()
                await self._maintain(tls, clients, self._stop)
        except StowplanError as problem:
            self._problem = problem
        except Exception as bug:
            self._problem = ConfigError(f"failed to start secure server: {type(bug).__name__}: {bug}")
            raise
        finally:
            self._began.set()

    @asynccontextmanager
    async def _serve(self, clients: Clients, site: Callable[[web.ServerRunner], web.SockSite]) -> AsyncIterator[None]:
        gate = AccessControl(self._access, self._metrics, clients.authentication, clients.authorization)
        server = web.Server(
            lambda request: self._handle(gate, request),
            access_log=None,
            keepalive_timeout=_IDLE_SECONDS,
            lingering_time=1.0,
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await site(runner).start()
            yield
        finally:
            await runner.cleanup()

    async def _handle(self, gate: AccessControl, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        certificate = None if transport is None else transport.get_extra_info("peercert")
        authorization = request.headers.get("Authorization", "")
        page = await gate.refusal(request.method, request.path, authorization, certificate)
        if page is None:
            page = await self._page(request)
        response = web.Response(
            body=page.content,
            status=page.status,
            headers={**_HEADERS, "Content-Type": page.content_type, **page.headers},
        )
        if len(page.content) > _WORTH_COMPRESSING:
            response.enable_compression()
        return response

    async def _page(self, request: web.BaseRequest) -> Page:
        body = b""
        if request.can_read_body:
            body = await request.content.read(_LARGEST_BODY)
            if not request.content.at_eof():
                return _TOO_LARGE
        query = parse_qs(request.query_string, keep_blank_values=True)
        asked = PageRequest(request.method, request.path, query, request.headers.get("Accept", ""), body)
        if asked.path.startswith("/metrics"):
            # On a large cluster this takes its time, which a probe of our health should not have to wait for.
            return await asyncio.to_thread(self._pages.answer, asked)
        return self._pages.answer(asked)

    async def _maintain(self, tls: ServerTLS, clients: Clients, stop: asyncio.Event) -> None:
        """Until the end, keep certificates up to date."""
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _REFRESH_SECONDS)
                break
            tls.reload()
            try:
                await self._look_up_authorities(tls, clients)
            except ConfigError as problem:
                log.error(problem, "Failed to look up client authorities, those known stay trusted")

    async def _look_up_authorities(self, tls: ServerTLS, clients: Clients, seconds: float = _LOOK_SECONDS) -> None:
        """Believe the client certificates that the cluster believes, unless the flags say whose to believe."""
        client = clients.authentication
        if self._access.client_ca_file or not self._access.look_up_client_ca:
            return
        if client is None:
            return
        try:
            async with asyncio.timeout(seconds):
                authorities = await look_up_client_authorities(client)
            if authorities:
                tls.trust_clients(authorities)
        except (ClusterError, msgspec.DecodeError, ConfigError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            if not self._access.tolerate_lookup_failure:
                raise ConfigError(f"unable to load configmap based client CA file: {why}") from error
            log.warning("Error looking up in-cluster authentication configuration", err=why)


@asynccontextmanager
async def _open(connect: Callable[[], Clients]) -> AsyncIterator[Clients]:
    clients = connect()
    try:
        yield clients
    finally:
        for client in {id(client): client for client in clients if client is not None}.values():
            await client.close()
