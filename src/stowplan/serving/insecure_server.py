"""Pages over plain HTTP, without authentication.

Upstream: k8s.io/apiserver/pkg/server/deprecated_insecure_serving.go
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack

from aiohttp import web

from stowplan import logs
from stowplan.config.conversion import InsecureAddress, InsecureServing
from stowplan.config.options import ServingOptions
from stowplan.errors import ConfigError
from stowplan.serving.connections import ConnectionLimits
from stowplan.serving.listening import listen
from stowplan.serving.page_server import PageServer, page_response, read_page, serve
from stowplan.serving.pages import Page, Pages

log = logs.get(__name__)

_NOT_ALLOWED = Page(405, b"Method Not Allowed\n")


class InsecureServer(PageServer):
    """Serves pages to everyone, read-only, from `start` to `stop`: on each listening socket its own pages."""

    def __init__(
        self,
        sites: Mapping[socket.socket, Pages],
        *,
        limits: ConnectionLimits | None = None,
        allowed_hosts: Collection[str] = (),
    ) -> None:
        super().__init__("insecure", limits)
        self._sites = sites
        self._allowed_hosts = allowed_hosts

    def start(self) -> None:
        if self._sites:
            self._start_thread()

    async def _serve(self, stopping: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            for listener, pages in self._sites.items():
                respond, hosts = _Reading(pages).respond, self._allowed_hosts
                await stack.enter_async_context(serve(listener, respond, limits=self._limits, allowed_hosts=hosts))
            self._ready()
            await stopping.wait()


class _Reading:
    """Responds to GET and HEAD."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD") and self._pages.find(request.path) is not None:
            return page_response(_NOT_ALLOWED, {})
        return page_response(await read_page(self._pages, request), {})


def listen_insecurely(wanted: InsecureServing, pages: Pages) -> dict[socket.socket, Pages]:
    """Listen on the addresses of /healthz and /metrics that a configuration names.

    Raises ConfigError if an address was set explicitly and cannot be listened on; a default address is left out.
    """
    paths: dict[InsecureAddress, set[str]] = {}
    for path, address in (("/healthz", wanted.healthz), ("/metrics", wanted.metrics)):
        if address is not None:
            paths.setdefault(address, set()).add(path)
    sites: dict[socket.socket, Pages] = {}
    for address, served in paths.items():
        try:
            listener = listen(ServingOptions(address=address.host, port=address.port))
        except ConfigError as problem:
            if wanted.explicit:
                raise
            log.warning("Health and metrics are not served over plain HTTP", address=str(address), err=str(problem))
            continue
        log.info("Serving insecurely", address=str(address), paths=" ".join(sorted(served)))
        sites[listener] = pages.only(served)
    return sites
