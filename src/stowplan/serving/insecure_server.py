"""Health and metrics over plain HTTP, for probes and scrapers of the time when schedulers served them so."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress

from aiohttp import web

from stowplan import logs
from stowplan.config.conversion import InsecureAddress, InsecureServing
from stowplan.config.serving_options import ServingOptions
from stowplan.errors import ConfigError
from stowplan.serving.listening import listen
from stowplan.serving.pages import NOT_FOUND, Page, PageRequest, Pages

log = logs.get(__name__)

_HEALTH, _METRICS = "/healthz", "/metrics"
_STOP_SECONDS = 1.0
_NOT_ALLOWED = Page(405, b"Method Not Allowed\n")


class InsecureServer:
    """Serves two pages to everyone, from `start` to `stop`."""

    def __init__(self, wanted: InsecureServing, pages: Pages) -> None:
        self._wanted = wanted
        self._pages = pages
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._began = threading.Event()
        self._thread: threading.Thread | None = None
        self.addresses: dict[InsecureAddress, set[str]] = {}
        """The paths that are served at each address."""

    def start(self) -> None:
        """Listen. Raises ConfigError where somebody asked for an address that cannot be had."""
        for path, address in ((_HEALTH, self._wanted.healthz), (_METRICS, self._wanted.metrics)):
            if address is not None:
                self.addresses.setdefault(address, set()).add(path)
        listeners = {address: self._listen(address) for address in self.addresses}
        sockets = {address: listener for address, listener in listeners.items() if listener is not None}
        if sockets:
            serve = self._serve(sockets)
            self._thread = threading.Thread(target=asyncio.run, args=(serve,), name="plain-serving", daemon=True)
            self._thread.start()
            self._began.wait()

    def stop(self) -> None:
        """Stop listening."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # It may have ended by itself.
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(2 * _STOP_SECONDS)

    def _listen(self, address: InsecureAddress) -> socket.socket | None:
        try:
            listener = listen(ServingOptions(address=address.host, port=address.port))
        except ConfigError as problem:
            if self._wanted.asked:
                raise
            log.warning("Health and metrics are not served over plain HTTP", address=str(address), err=str(problem))
            return None
        log.info("Serving insecurely", address=str(address), paths=" ".join(sorted(self.addresses[address])))
        return listener

    async def _serve(self, sockets: dict[InsecureAddress, socket.socket]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runners = [await self._site(listener, self.addresses[address]) for address, listener in sockets.items()]
        self._began.set()
        await self._stop.wait()
        for runner in runners:
            await runner.cleanup()

    async def _site(self, listener: socket.socket, paths: set[str]) -> web.ServerRunner:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            page = await self._page(request, paths)
            return web.Response(
                body=page.content, status=page.status, headers={"Content-Type": page.content_type, **page.headers}
            )

        server = web.Server(handle, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_STOP_SECONDS)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        return runner

    async def _page(self, request: web.BaseRequest, paths: set[str]) -> Page:
        if request.path not in paths:
            return NOT_FOUND
        if request.method not in ("GET", "HEAD"):
            return _NOT_ALLOWED
        # On a large cluster metrics take their time, which a probe of our health should not have to wait for.
        return await asyncio.to_thread(self._pages.answer, PageRequest("GET", request.path))
