"""Pages over HTTPS, for authenticated and authorized clients.

Upstream: k8s.io/apiserver/pkg/server/secure_serving.go, k8s.io/apiserver/pkg/server/dynamiccertificates
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

import msgspec
from aiohttp import web

from stowplan import logs
from stowplan.cluster.errors import ClusterError
from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.errors import ConfigError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving.access_control import AccessControl
from stowplan.serving.authn import look_up_client_authorities
from stowplan.serving.certificates import ServerTLS
from stowplan.serving.connections import ConnectionLimits
from stowplan.serving.listening import listen
from stowplan.serving.page_server import PageServer, page_response, read_page, serve
from stowplan.serving.pages import Pages
from stowplan.serving.reviews import ApiClient

log = logs.get(__name__)

_RELOAD_SECONDS = 60.0
"""Between two reads of the certificates."""
_LOOKUP_SECONDS, _FIRST_LOOKUP_SECONDS = 10.0, 2.0
"""Time limits of a read of the client CA from the cluster. The first read delays the start and is repeated later."""

_HEADERS = {"Cache-Control": "no-cache, private", "Server": "stowplan"}


class Clients(NamedTuple):
    """API clients for TokenReview and SubjectAccessReview; None without a kubeconfig for it."""

    authentication: ApiClient | None = None
    authorization: ApiClient | None = None


class SecureServer(PageServer):
    """Serves pages from `start` to `stop`."""

    def __init__(
        self,
        serving: ServingOptions,
        access: AccessOptions,
        pages: Pages,
        metrics: AccessMetrics,
        connect: Callable[[], Clients] = Clients,
        *,
        limits: ConnectionLimits | None = None,
    ) -> None:
        """`connect` runs on the server's thread; the clients belong to that thread's event loop."""
        super().__init__("secure", limits)
        self._serving = serving
        self._access = access
        self._pages = pages
        self._metrics = metrics
        self._connect = connect
        self.port = 0
        """The port that is listened on, once started."""

    def start(self) -> None:
        """Listen. Raises ConfigError if the port is taken or a certificate cannot be used."""
        self._tls = ServerTLS(self._serving, self._access.client_ca_file)
        self._listener = listen(self._serving)
        self.port = self._listener.getsockname()[1]
        self._start_thread()

    def stop(self) -> None:
        super().stop()
        if self.port:
            log.info("[graceful-termination] secure server is exiting")

    async def _serve(self, stopping: asyncio.Event) -> None:
        async with _open(self._connect) as clients:
            access = AccessControl(self._access, self._metrics, clients.authentication, clients.authorization)
            respond = partial(self._respond, access)
            async with serve(self._listener, respond, self._tls.context, self._limits, headers=_HEADERS):
                tolerant = self._access.tolerate_lookup_failure
                seconds = _FIRST_LOOKUP_SECONDS if tolerant else _LOOKUP_SECONDS
                await self._look_up_authorities(clients, seconds)
                self._ready()
                await self._maintain(clients, stopping)

    async def _respond(self, access: AccessControl, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        certificate = None if transport is None else transport.get_extra_info("peercert")
        authorization = request.headers.get("Authorization", "")
        page = await access.refusal(request.method, request.path, authorization, certificate)
        if page is None and self._pages.requires_pods(request.path):
            page = await access.refusal_of_pods(authorization, certificate)
        if page is None:
            stream = self._pages.find_stream(request.path)
            if stream is not None:
                return await stream(request, _HEADERS)
            page = await read_page(self._pages, request)
        return page_response(page, _HEADERS)

    async def _maintain(self, clients: Clients, stopping: asyncio.Event) -> None:
        """Reload certificates until the end."""
        while not stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), _RELOAD_SECONDS)
                break
            self._tls.reload()
            try:
                await self._look_up_authorities(clients)
            except ConfigError as problem:
                log.error(problem, "Failed to look up client authorities, those known stay trusted")

    async def _look_up_authorities(self, clients: Clients, seconds: float = _LOOKUP_SECONDS) -> None:
        """Trust the client CA of the cluster, unless --client-ca-file names one."""
        client = clients.authentication
        if self._access.client_ca_file or self._access.skip_lookup or client is None:
            return
        try:
            async with asyncio.timeout(seconds):
                authorities = await look_up_client_authorities(client)
            if authorities:
                self._tls.trust_clients(authorities)
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
