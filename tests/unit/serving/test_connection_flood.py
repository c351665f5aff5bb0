"""A server process with the usual limit of open files, and more clients than that which connect and send nothing."""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from time import sleep
from typing import NamedTuple

import pytest
from tests.unit.serving import port_process

CLIENTS, OPEN_FILES = 1100, 1024
MAX_LOG_BYTES = 20_000
HEALTH_SECONDS = 20.0


class ServerProcess(NamedTuple):
    port: int
    log: Path


@contextmanager
def server_process(
    kind: str, log: Path, open_files: int = OPEN_FILES, max_connections: int = 0
) -> Iterator[ServerProcess]:
    with log.open("wb") as lines:
        process = subprocess.Popen(
            [sys.executable, port_process.__file__, kind, str(open_files), str(max_connections)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=lines,
        )
        with process:
            assert process.stdout is not None
            yield ServerProcess(int(process.stdout.readline()), log)
            process.terminate()


@cache
def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def health(port: int, kind: str) -> tuple[int, bytes]:
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, context=trusting(), timeout=HEALTH_SECONDS)
        if kind == "secure"
        else http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH_SECONDS)
    )
    with closing(connection):
        connection.request("GET", "/healthz")
        reply = connection.getresponse()
        return reply.status, reply.read()


def connect(port: int, kind: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=HEALTH_SECONDS)
    return trusting().wrap_socket(connection) if kind == "secure" else connection


@pytest.mark.parametrize("kind", ["secure", "insecure"])
def test_health_is_served_while_more_clients_are_connected_than_files_may_be_open(kind: str, tmp_path: Path) -> None:
    with server_process(kind, tmp_path / "log") as server, ExitStack() as clients:
        with suppress(TimeoutError):  # The server may accept fewer.
            for _ in range(CLIENTS):
                clients.enter_context(closing(connect(server.port, kind)))
        assert health(server.port, kind) == (200, b"ok")
        sleep(1.5)  # Failures to accept would be logged again after a second.
        assert health(server.port, kind) == (200, b"ok")
    assert server.log.stat().st_size < MAX_LOG_BYTES, server.log.read_text()[:2000]


@pytest.mark.parametrize("kind", ["secure", "insecure"])
def test_health_is_served_where_files_run_out_before_the_maximum_is_reached(kind: str, tmp_path: Path) -> None:
    with server_process(kind, tmp_path / "log", 100, 10_000) as server, ExitStack() as clients:
        for _ in range(200):
            clients.enter_context(closing(socket.create_connection(("127.0.0.1", server.port), HEALTH_SECONDS)))
        assert health(server.port, kind) == (200, b"ok")
    assert "Failed to accept a connection" in server.log.read_text()
    assert server.log.stat().st_size < MAX_LOG_BYTES


def test_malformed_requests_do_not_fill_the_log(tmp_path: Path) -> None:
    with server_process("insecure", tmp_path / "log") as server:
        for _ in range(200):
            with connect(server.port, "insecure") as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n")
                assert b" 400 " in connection.recv(10_000)
        assert health(server.port, "insecure") == (200, b"ok")
    assert server.log.stat().st_size < MAX_LOG_BYTES
