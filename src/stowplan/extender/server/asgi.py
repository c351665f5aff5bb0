"""The extender as an ASGI application, for servers such as uvicorn, hypercorn or granian.

    # my_extender.py, to be run by: uvicorn my_extender:app --port 8888
    from stowplan.extender.server.asgi import make_application

    app = make_application(MyPlugin)

TLS, keep-alive and shutdown are up to that server. Requests must carry whole nodes, since there is no informer cache.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from stowplan import logs
from stowplan.extender.handlers import GroupMember, Handlers, Verb
from stowplan.extender.policy import OperatorPolicy
from stowplan.extender.server.configuration import Serving
from stowplan.extender.server.connection import too_large
from stowplan.extender.server.decisions import DecisionLog
from stowplan.extender.server.messages import Response, text
from stowplan.extender.server.metrics import ServerMetrics
from stowplan.extender.server.pages import OperatorPages
from stowplan.extender.server.paths import Paths
from stowplan.extender.server.request_handling import Answering, RequestRefusal
from stowplan.framework import Handle, Plugin
from stowplan.observe.health import PING
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.loopback import MISDIRECTED, foreign_host, is_loopback
from stowplan.serving.pages import PageRequest

log = logs.get(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def make_application(
    *plugins: Callable[[Any, Handle], Plugin] | GroupMember,
    policy: OperatorPolicy | None = None,
    url_prefix: str = "",
    verbs: Mapping[Verb, str] | None = None,
    largest_body: int = Serving().max_body_bytes,
    allowed_hosts: Collection[str] = (),
) -> Application:
    """An application that serves these plugins. Raises StowplanError.

    `allowed_hosts` are names by which a loopback address may be called, besides localhost."""
    members = [plugin if isinstance(plugin, GroupMember) else GroupMember(plugin) for plugin in plugins]
    metrics = ServerMetrics(MetricRegistry())
    decisions = DecisionLog()
    paths = Paths(url_prefix, verbs)
    handlers = Handlers(members, policy, binds="bind" in paths.by_verb)
    answering = Answering(handlers, paths, metrics, [decisions])
    pages = OperatorPages(metrics.registry, decisions, live=[PING], ready=[PING])
    return Application(answering, pages, largest_body, Serving(allowed_hosts=tuple(allowed_hosts)).other_hosts)


class Application:
    """Answers verbs and pages."""

    def __init__(
        self, answering: Answering, pages: OperatorPages, largest_body: int, allowed_hosts: Collection[str] = ()
    ) -> None:
        self._answering = answering
        self._pages = pages
        self._largest = largest_body
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            response = await self._respond(scope, receive)
            headers = {"content-type": response.content_type, "content-length": str(len(response.body))}
            pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": response.status, "headers": pairs})
            await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        began, path, method = monotonic(), scope["path"], scope["method"]
        foreign = self._foreign_host(scope)
        if foreign is not None:
            self._answering.metrics.refused("foreign_host")
            return text(MISDIRECTED, foreign)
        verb = self._answering.route(method, path)
        if isinstance(verb, RequestRefusal):
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
            handler = self._pages.find(path) if method in ("GET", "HEAD") else None
            if handler is not None:
                page = handler(PageRequest("GET", path, query))
                return Response(page.status, page.content, page.content_type)
            self._answering.metrics.refused(verb.cause)
            return text(verb.status, verb.text)
        body = await self._receive(receive, verb)
        if body is None:
            return too_large(0, self._largest)
        client = scope.get("client") or ("",)
        return Response(*await self._answering.answer(verb, path, body, began, client[0]))

    def _foreign_host(self, scope: Scope) -> str | None:
        if not is_loopback(scope.get("server")):
            return None
        headers = {name.lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        return foreign_host(headers.get(b"host", ""), headers.get(b"origin", ""), self._allowed_hosts)

    async def _receive(self, receive: Receive, verb: Verb) -> bytes | None:
        """The body; None if it is too large, or if the client disconnected."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                self._answering.metrics.abandoned(verb)
                return None
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > self._largest:
                self._answering.metrics.refused("too_large")
                log.warning("A request was refused, its body is too large", verb=verb, accepted=self._largest)
                return None
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
