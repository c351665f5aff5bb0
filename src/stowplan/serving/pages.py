"""Pages of a process: path → page. The servers of this room serve any `Pages`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from aiohttp import web

from stowplan.observe.health import HealthPage, HealthReply
from stowplan.observe.registry import CONTENT_TYPE, MetricRegistry

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}


class PageRequest(NamedTuple):
    """The parts of an HTTP request that pages read."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = {}
    accept: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = {}
    """By name, in any case."""


class Page(NamedTuple):
    """An HTTP response."""

    status: int
    content: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = {}


PageHandler: TypeAlias = Callable[[PageRequest], Page]
AsyncPageHandler: TypeAlias = Callable[[PageRequest], Awaitable[Page]]
StreamHandler: TypeAlias = Callable[[web.BaseRequest, Mapping[str, str]], Awaitable[web.StreamResponse]]
"""(request, headers of every response)."""

NOT_FOUND = Page(404, b"404 page not found\n", headers=NO_SNIFFING)


def status_page(code: int, reason: str, message: str, **more: Any) -> Page:
    """An error as a `Status` object, as the API server writes it."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }
    return Page(code, msgspec.json.encode(status), JSON, NO_SNIFFING)


def health_reply(reply: HealthReply) -> Page:
    return Page(reply.status, reply.text.encode(), headers=NO_SNIFFING)


class Pages:
    """Registered pages by path.

    A process creates one, registers a handler per path with `add`, and passes it to a `SecureServer` or an
    `InsecureServer`. Handlers run on the server's thread and must not block; with `blocking` they run on a thread pool.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, PageHandler] = {}
        self._prefixes: dict[str, PageHandler] = {}
        self._blocking: set[PageHandler] = set()
        self._async: dict[str, AsyncPageHandler] = {}
        self._streams: dict[str, StreamHandler] = {}
        self._with_pods: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        """The exact paths, sorted."""
        return sorted(self._handlers)

    def add(self, path: str, handler: PageHandler, *, blocking: bool = False) -> None:
        """Serve a path. A path that ends in a slash stands for every path below it that has no page of its own."""
        (self._prefixes if path.endswith("/") else self._handlers)[path] = handler
        if blocking:
            self._blocking.add(handler)

    def add_async(self, path: str, handler: AsyncPageHandler) -> None:
        """Serve a path, and with a trailing slash every path below it, by a coroutine on the server's event loop."""
        self._async[path] = handler

    def find_async(self, path: str) -> AsyncPageHandler | None:
        """The coroutine function that serves a path, None if there is none."""
        matches = (
            prefix for prefix in self._async if path == prefix or (prefix[-1] == "/" and path.startswith(prefix))
        )
        found = next(matches, None)
        return None if found is None else self._async[found]

    def add_stream(self, path: str, handler: StreamHandler) -> None:
        """Serve a path by a response that does not end."""
        self._streams[path] = handler

    def find_stream(self, path: str) -> StreamHandler | None:
        return self._streams.get(path)

    def require_pods(self, prefix: str) -> None:
        """Serve the paths below a prefix only to clients that may also list pods in all namespaces."""
        self._with_pods += (prefix,)

    def requires_pods(self, path: str) -> bool:
        return path.startswith(self._with_pods)

    def add_health(self, page: HealthPage) -> None:
        """Serve a health page with its query parameters `verbose` and `exclude`, and each check at a path below."""

        def whole(request: PageRequest) -> Page:
            exclude = request.query.get("exclude", ())
            return health_reply(page.report(verbose="verbose" in request.query, exclude=exclude))

        def single(request: PageRequest) -> Page:
            reply = page.one(request.path.rpartition("/")[2])
            return NOT_FOUND if reply is None else health_reply(reply)

        self.add(f"/{page.name}", whole)
        for check in page.checks:
            self.add(f"/{page.name}/{check.name}", single)

    def add_metrics(self, path: str, registry: MetricRegistry, headers: Mapping[str, str] | None = None) -> None:
        """Serve a registry in Prometheus' text format; DELETE resets it."""

        def metrics(request: PageRequest) -> Page:
            if request.method == "DELETE":
                registry.reset()
                return Page(200, b"metrics reset\n")
            return Page(200, registry.expose(), CONTENT_TYPE, headers or {})

        # Formatting the series of a large cluster must not delay a health probe.
        self.add(path, metrics, blocking=True)

    def only(self, paths: Iterable[str]) -> Pages:
        """The same pages, restricted to some exact paths."""
        chosen = Pages()
        chosen._handlers = {path: self._handlers[path] for path in paths if path in self._handlers}
        chosen._blocking = self._blocking
        return chosen

    def find(self, path: str) -> PageHandler | None:
        """The handler of a path, None if there is none."""
        found = self._handlers.get(path)
        if found is None:
            found = next((handler for prefix, handler in self._prefixes.items() if path.startswith(prefix)), None)
        return found

    def is_blocking(self, handler: PageHandler) -> bool:
        return handler in self._blocking

    def not_found(self, request: PageRequest) -> Page:
        """The response for a path without a page."""
        return NOT_FOUND

    def answer(self, request: PageRequest) -> Page:
        handler = self.find(request.path)
        return self.not_found(request) if handler is None else handler(request)
