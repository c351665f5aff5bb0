"""Clients that read answers of a scheduler while it is measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from stowplan.bench.cluster import visitors
from stowplan.bench.cluster.visitors import Visitor, explanations, page, visited
from stowplan.testing.errors import SurroundingsError

POD = {"metadata": {"namespace": "default", "name": "p"}}


class Server:
    """Answers every request with `status`, and keeps their paths."""

    def __init__(self) -> None:
        self.status = 200
        self.paths: list[str] = []
        self.event = threading.Event()
        """Set once `awaited` was requested."""
        self.awaited = "/"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self.connect = partial(HTTPConnection, "127.0.0.1", self._server.server_port)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.paths.append(self.path)
                body = b'{"epoch": "e", "revision": 3}\n'
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if self.path.startswith(server.awaited):
                    server.event.set()

            def log_message(self, *args: Any) -> None:
                pass

        return Handler

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(visitors, "EXPLANATION_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(visitors, "_RETRY_SECONDS", 0.01)
    made = Server()
    yield made
    made.close()


def test_one_pod_after_the_other_is_explained(server: Server) -> None:
    server.awaited = "/insight/v1/explain/default/q"
    other = {"metadata": {"namespace": "default", "name": "q"}}
    with visited(server.connect, "token", explanations([POD, other])) as visitor:
        assert server.event.wait(10)
    assert server.paths[:2] == ["/insight/v1/explain/default/p", "/insight/v1/explain/default/q"]
    assert visitor.replies >= 2


def test_a_viewer_loads_all_data_and_follows_the_stream(server: Server) -> None:
    server.awaited = "/insight/v1/page/events"
    with visited(server.connect, "token", page):
        assert server.event.wait(10)
    assert server.paths[1] == "/insight/v1/page/map"
    assert server.paths[7] == "/insight/v1/page/events?since=e-3&pods=1"


def read_root(visitor: Visitor) -> None:
    visitor.read("/")


def test_figures_without_a_successful_visit_are_an_error(server: Server) -> None:
    server.status = 403

    def visit_once() -> None:
        with visited(server.connect, "token", read_root) as visitor:
            while visitor.problem is None:
                visitor.stopped.wait(0.01)

    with pytest.raises(SurroundingsError, match=r"answered no request of the visitor: GET /: status 403"):
        visit_once()
