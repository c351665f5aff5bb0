"""Limits of connections, on real servers with few connections and short times."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from time import monotonic, sleep

import pytest
from tests.unit.serving.test_connection_flood import trusting
from tests.unit.serving.test_insecure_server import pages

from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.serving import InsecureServer, Page, PageRequest, Pages, SecureServer
from stowplan.serving.connections import MAX_CONNECTIONS, ConnectionLimits, default_limits

MAX = 20
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
KINDS = pytest.mark.parametrize("kind", ["secure", "insecure"])


@contextmanager
def serving(kind: str, limits: ConnectionLimits, served: Pages | None = None) -> Iterator[int]:
    """The port of a server."""
    served = served or pages()
    server: SecureServer | InsecureServer
    if kind == "secure":
        options = ServingOptions(address="127.0.0.1", port=0)
        server = SecureServer(options, AccessOptions(), served, AccessMetrics(MetricRegistry()), limits=limits)
        server.start()
        port = server.port
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = InsecureServer({listener: served}, limits=limits)
        server.start()
    try:
        yield port
    finally:
        server.stop()


@contextmanager
def connected(kind: str, port: int) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as plain:
        if kind == "insecure":
            yield plain
            return
        with closing(trusting().wrap_socket(plain)) as secure:
            yield secure


def visit(connection: socket.socket) -> bytes:
    """The status line of /healthz; empty if the server has closed the connection."""
    try:
        connection.sendall(HEALTHZ)
        return connection.recv(10_000).partition(b"\r\n")[0]
    except (ConnectionError, ssl.SSLEOFError):
        return b""


OK = b"HTTP/1.1 200 OK"


@KINDS
def test_the_longest_waiting_are_closed_for_new_ones(kind: str) -> None:
    with serving(kind, ConnectionLimits(MAX)) as port, ExitStack() as stack:
        used = stack.enter_context(connected(kind, port))
        assert visit(used) == OK
        silent = [stack.enter_context(connected(kind, port)) for _ in range(MAX + 10)]
        fresh = stack.enter_context(connected(kind, port))
        assert visit(fresh) == OK
        assert visit(silent[0]) == b""
        assert visit(silent[11]) == b""
        assert visit(silent[12]) == OK
        assert visit(used) == OK, "Connections that never sent a request go first."


def test_a_handshake_that_does_not_end_counts_as_a_connection() -> None:
    with serving("secure", ConnectionLimits(MAX)) as port, ExitStack() as stack:
        silent = [stack.enter_context(connected("insecure", port)) for _ in range(2 * MAX)]
        with connected("secure", port) as fresh:
            assert visit(fresh) == OK
        assert silent[0].recv(1) == b""


@KINDS
@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\n"])
def test_a_first_request_must_come_in_time(kind: str, sent: bytes) -> None:
    limits = ConnectionLimits(MAX, first_request=0.3, idle=60.0, check=0.05)
    with serving(kind, limits) as port, connected(kind, port) as used, connected(kind, port) as silent:
        assert visit(used) == OK
        silent.sendall(sent)
        assert received(silent) == b""
        assert visit(used) == OK


def received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(10_000)
    except (ConnectionError, ssl.SSLEOFError):
        return b""


@KINDS
def test_idle_connections_are_closed(kind: str) -> None:
    limits = ConnectionLimits(MAX, first_request=60.0, idle=0.3, check=0.05)
    with serving(kind, limits) as port, connected(kind, port) as used:
        assert visit(used) == OK
        assert received(used) == b""


def test_a_header_that_arrives_byte_by_byte_is_late_too() -> None:
    limits = ConnectionLimits(MAX, first_request=0.3, check=0.05)
    with serving("insecure", limits) as port, connected("insecure", port) as slow, pytest.raises(ConnectionError):
        trickle(slow)


def trickle(connection: socket.socket) -> None:
    began = monotonic()
    while monotonic() - began < 20:
        connection.sendall(b"G")
        sleep(0.02)


def test_a_handshake_must_end_in_time() -> None:
    limits = ConnectionLimits(MAX, handshake=0.2)
    with serving("secure", limits) as port, connected("insecure", port) as silent:
        assert silent.recv(1) == b""


class BigPages(Pages):
    def __init__(self) -> None:
        super().__init__()
        self.add("/big", lambda request: Page(200, b"x" * (8 << 20)))


def test_a_client_that_reads_no_response_is_closed() -> None:
    limits = ConnectionLimits(MAX, stalled=0.3, check=0.05)
    with serving("insecure", limits, BigPages()) as port, connected("insecure", port) as lazy:
        lazy.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n")
        sleep(1.0)
        count = 0
        while piece := received(lazy):
            count += len(piece)
        assert count < 8 << 20


def blocking(release: threading.Event) -> Callable[[PageRequest], Page]:
    def handler(request: PageRequest) -> Page:
        release.wait(60)
        return Page(200, b"late\n")

    return handler


def test_connections_that_are_being_answered_stay_and_others_are_refused() -> None:
    release, served = threading.Event(), Pages()
    served.add("/slow", blocking(release), blocking=True)
    limits = ConnectionLimits(2, first_request=0.2, idle=0.2, check=0.05)
    with serving("insecure", limits, served) as port, ExitStack() as stack:
        busy = [stack.enter_context(connected("insecure", port)) for _ in range(2)]
        for connection in busy:
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sleep(0.5)
        with connected("insecure", port) as another:
            assert visit(another) == b""
        release.set()
        assert [connection.recv(10_000).partition(b"\r\n")[0] for connection in busy] == [OK, OK]


@pytest.mark.parametrize(("open_files", "expected"), [(1024, 256), (1 << 20, MAX_CONNECTIONS), (2, 1)])
def test_the_maximum_leaves_open_files_for_the_rest(
    open_files: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stowplan.serving.connections.open_files_limit", lambda: open_files)
    assert default_limits().max_connections == expected


def test_a_body_must_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.serving.page_server._BODY_SECONDS", 0.2)
    with serving("insecure", ConnectionLimits(MAX)) as port, connected("insecure", port) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
        assert received(slow).startswith(b"HTTP/1.1 408 ")


def test_a_body_may_come_in_parts() -> None:
    with serving("insecure", ConnectionLimits(MAX)) as port, connected("insecure", port) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nabc")
        sleep(0.2)
        client.sendall(b"def")
        assert received(client).startswith(OK)
