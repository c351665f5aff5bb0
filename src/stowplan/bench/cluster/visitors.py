"""Clients that read answers of a scheduler while it is measured."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import cycle
from ssl import SSLContext
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from stowplan.testing.errors import SurroundingsError

EXPLANATION_INTERVAL_SECONDS = 1.0
_RETRY_SECONDS = 0.2
_TIMEOUT_SECONDS = 30.0
_INITIAL_PAGES = ("hello", "map", "pending", "queue", "config", "pods", "pods?names")
"""The data that a page loads before it follows the changes."""


Connect: TypeAlias = Callable[[], http.client.HTTPConnection]


def secure_connections(url: str, tls: SSLContext) -> Connect:
    """New connections to the address of a URL."""
    return partial(http.client.HTTPSConnection, urlsplit(url).netloc, context=tls, timeout=_TIMEOUT_SECONDS)


class Visitor:
    """A thread of requests to one server, until `stop` is called. Failed requests are sent again: the scheduler may not
    be ready yet."""

    def __init__(self, connect: Connect, token: str, visit: Callable[[Visitor], None]) -> None:
        self._connect = connect
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
        self.stopped = threading.Event()
        self.replies = 0
        """Number of successful requests."""
        self.problem: Exception | None = None
        """Of the latest request that failed."""
        self._thread = threading.Thread(target=self._run, args=(visit,), daemon=True)
        self._thread.start()

    def _run(self, visit: Callable[[Visitor], None]) -> None:
        while not self.stopped.wait(_RETRY_SECONDS):
            try:
                visit(self)
            except (OSError, http.client.HTTPException) as error:
                self.problem = error

    @contextmanager
    def open(self, path: str) -> Iterator[http.client.HTTPResponse]:
        """The reply to a GET request on a connection of its own, if the status is 200; OSError otherwise."""
        with closing(self._connect()) as connection:
            connection.request("GET", path, headers=self._headers)
            with connection.getresponse() as reply:
                if reply.status != http.client.OK:
                    raise OSError(f"GET {path}: status {reply.status}")
                self.replies += 1
                yield reply

    def read(self, path: str) -> bytes:
        with self.open(path) as reply:
            body = reply.read()
        return gzip.decompress(body) if reply.headers["Content-Encoding"] == "gzip" else body

    def stop(self) -> None:
        self.stopped.set()
        self._thread.join(_TIMEOUT_SECONDS)


@contextmanager
def visited(connect: Connect, token: str, visit: Callable[[Visitor], None]) -> Iterator[Visitor]:
    """Visits for the length of a `with` block, which must have had an effect."""
    visitor = Visitor(connect, token, visit)
    try:
        yield visitor
    finally:
        visitor.stop()
    if not visitor.replies:
        raise SurroundingsError(f"the scheduler answered no request of the visitor: {visitor.problem or 'none sent'}")


def explanations(pods: list[dict[str, Any]]) -> Callable[[Visitor], None]:
    """One explanation a second, of one pod after the other."""
    names = cycle([(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods])

    def visit(visitor: Visitor) -> None:
        while not visitor.stopped.wait(EXPLANATION_INTERVAL_SECONDS):
            visitor.read("/insight/v1/explain/{}/{}".format(*next(names)))

    return visit


def page(visitor: Visitor) -> None:
    """One viewer of the page: all initial data, then the stream of changes."""
    bodies = {path: visitor.read(f"/insight/v1/page/{path}") for path in _INITIAL_PAGES}
    found = json.loads(bodies["map"])
    with visitor.open(f"/insight/v1/page/events?since={found['epoch']}-{found['revision']}&pods=1") as stream:
        while not visitor.stopped.is_set() and stream.readline():
            pass
