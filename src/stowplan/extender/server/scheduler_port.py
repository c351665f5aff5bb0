"""The port that schedulers call: the verbs, and the operators' pages unless these have a port of their own."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Callable, Collection
from typing import Any, Literal
from urllib.parse import parse_qs

from stowplan import logs
from stowplan.extender.server.client_access import Access
from stowplan.extender.server.connection import too_large
from stowplan.extender.server.http import HttpServer
from stowplan.extender.server.messages import HttpRequest, RequestHead, Response, text
from stowplan.extender.server.pages import OPEN, OperatorPages
from stowplan.extender.server.request_handling import Answering, RequestRefusal
from stowplan.serving.loopback import MISDIRECTED, foreign_host
from stowplan.serving.pages import PageRequest

log = logs.get(__name__)

Gzip = Literal["auto", "always", "never"]
_COMPRESS_FROM_BYTES = 64 * 1024
_GZIP = 16 + zlib.MAX_WBITS


class SchedulerPort(HttpServer):
    """Serves the verbs, and the pages unless these have a port of their own."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        answering: Answering,
        *,
        access: Access,
        pages: OperatorPages | None,
        largest_body: int,
        max_total_bytes: int,
        max_connections: int,
        closed: Callable[[], str | None] = lambda: None,
        gzip: Gzip = "auto",
        allowed_hosts: Collection[str] = (),
    ) -> None:
        """`closed` returns why no verb is served at present, or None. `allowed_hosts` are names by which a loopback
        address may be called, besides localhost."""
        super().__init__(
            listener,
            tls,
            largest_body=largest_body,
            max_total_bytes=max_total_bytes,
            max_connections=max_connections,
        )
        self._answering = answering
        self._access = access
        self._closed = closed
        self._pages = pages
        self._gzip = gzip
        self._allowed_hosts = allowed_hosts
        self._on_full = logs.RepeatedWarning(log, "A connection was closed, the maximum number of connections is open")
        self._on_refused: dict[str, logs.RepeatedWarning] = {}
        """By cause."""

    def admit(self, head: RequestHead, certificate: Any, *, on_loopback: bool) -> Response | None:
        if on_loopback:
            why = foreign_host(head.headers.get("host", ""), head.headers.get("origin", ""), self._allowed_hosts)
            if why is not None:
                self._refused("foreign_host", head, f"{why}; --allowed-host allows a name")
                return text(MISDIRECTED, why)
        if self._pages is not None and head.path in OPEN and head.length == 0:
            return None
        refused = self._access.refusal(certificate)
        if refused is not None:
            self._refused("unauthorized", head, refused[1])
            return text(*refused)
        found = self._answering.route(head.method, head.path)
        if isinstance(found, RequestRefusal):
            if self._pages is not None and found.status == 404 and head.length == 0:
                return None  # There may be such a page.
            return self._turned_away(found, head)
        why = self._closed()
        if why is not None:
            self._answering.metrics.refused("not_ready")
            return text(503, why)
        if head.length > self.largest_body:
            return self.outgrown(head)
        return None

    def outgrown(self, head: RequestHead) -> Response:
        response = too_large(max(0, head.length), self.largest_body)
        self._refused("too_large", head, response.body.decode().strip())
        return response

    def over_budget(self, head: RequestHead, why: str) -> Response:
        self._refused("over_budget", head, why)
        return text(503, why)

    def too_many_connections(self) -> None:
        self._answering.metrics.refused("too_many_connections")
        self._on_full()

    def _refused(self, cause: str, head: RequestHead, why: str) -> None:
        self._answering.metrics.refused(cause)
        warn = self._on_refused.get(cause)
        if warn is None:
            warn = self._on_refused[cause] = logs.RepeatedWarning(log, "A request was refused")
        warn(path=head.path, why=why)

    async def respond(self, request: HttpRequest) -> Response:
        head = request.head
        verb = self._answering.route(head.method, head.path)
        if isinstance(verb, RequestRefusal):
            return await self._page(head) or self._turned_away(verb, head)
        self._answering.metrics.in_flight.add()
        try:
            answer = await self._answering.answer(verb, head.path, request.body, request.began, request.client)
        finally:
            self._answering.metrics.in_flight.add(-1)
        response = Response(*answer)
        if len(response.body) >= _COMPRESS_FROM_BYTES and self._compresses(request):
            return await asyncio.to_thread(compressed, response)
        return response

    async def _page(self, head: RequestHead) -> Response | None:
        """The page of a path, if this port serves pages."""
        handler = None if self._pages is None else self._pages.find(head.path)
        if self._pages is None or handler is None or head.method not in ("GET", "HEAD"):
            return None
        request = PageRequest("GET", head.path, parse_qs(head.query, keep_blank_values=True))
        blocking = self._pages.is_blocking(handler)
        page = await asyncio.to_thread(handler, request) if blocking else handler(request)
        return Response(page.status, page.content, page.content_type, page.headers)

    def abandoned(self, head: RequestHead) -> None:
        verb = self._answering.paths.find(head.path)
        if verb is not None:
            self._answering.metrics.abandoned(verb)

    def _turned_away(self, refusal: RequestRefusal, head: RequestHead) -> Response:
        self._refused(refusal.cause, head, refusal.text)
        others = "" if self._pages is None else f"; pages: {self._pages.listing()}"
        return text(refusal.status, refusal.text + (others if refusal.status == 404 else ""))

    def _compresses(self, request: HttpRequest) -> bool:
        """Every Go client accepts gzip. For clients on this machine it only costs time."""
        if self._gzip == "never" or "gzip" not in request.head.headers.get("accept-encoding", ""):
            return False
        return self._gzip == "always" or not _is_loopback(request.client)


def compressed(response: Response) -> Response:
    """The response in gzip format, at the fastest level."""
    packer = zlib.compressobj(level=1, wbits=_GZIP)
    body = packer.compress(response.body) + packer.flush()
    return response._replace(body=body, headers={**response.headers, "Content-Encoding": "gzip"})


def _is_loopback(client: str) -> bool:
    try:
        return not client or ipaddress.ip_address(client.partition("%")[0]).is_loopback
    except ValueError:
        return True  # A Unix socket.
