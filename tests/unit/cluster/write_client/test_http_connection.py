"""One connection, driven by hand: bytes in, calls of its owner out."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest
from tests.unit.cluster.scripted_server import http

from stowplan.cluster.connection import LoginMethod
from stowplan.cluster.errors import ClusterError, ConnectionFailedError
from stowplan.cluster.write_client import TimedOutError, WriteRequest
from stowplan.cluster.write_client.http_connection import HttpConnection

LOGIN = LoginMethod({}, None, 0.0)


class Transport:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.state = "open"

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.state != "open"

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"


class Owner:
    def __init__(self) -> None:
        self.replies: list[tuple[WriteRequest, int, bytes, float | None]] = []
        self.closed: list[tuple[WriteRequest | None, str]] = []
        self.errors: list[ClusterError] = []

    def on_reply(self, connection: Any, request: WriteRequest, status: int, body: bytes, retry: float | None) -> None:
        self.replies.append((request, status, body, retry))

    def on_closed(self, connection: Any, request: WriteRequest | None, error: ClusterError) -> None:
        self.closed.append((request, str(error)))
        self.errors.append(error)


class Rig:
    """A connection with a request under way."""

    def __init__(self) -> None:
        self.owner, self.transport = Owner(), Transport()
        self.connection = HttpConnection(self.owner, None)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        self.request = WriteRequest(b"POST", b"/x", timeout=3.0)
        self.send(self.request)

    def send(self, request: WriteRequest) -> None:
        self.connection.send(request, b"request", LOGIN, 10.0)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_request_is_written_and_its_deadline_noted(rig: Rig) -> None:
    assert rig.transport.written == [b"request"]
    assert (rig.connection.since, rig.connection.deadline) == (10.0, 13.0)
    assert rig.connection.request is rig.request


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_reply_split_across_packets_is_delivered_once(rig: Rig, size: int) -> None:
    reply = http(201, b"0123456789", retry_after="2")
    for start in range(0, len(reply), size):
        assert rig.owner.replies == []
        rig.connection.data_received(reply[start : start + size])
    assert rig.owner.replies == [(rig.request, 201, b"0123456789", 2.0)]
    assert rig.connection.request is None


def test_a_connection_carries_one_request_after_the_other(rig: Rig) -> None:
    rig.connection.data_received(http(429, b"later", retry_after="1"))
    second = WriteRequest(b"POST", b"/y")
    rig.send(second)
    rig.connection.data_received(http(200, b"done"))
    assert rig.owner.replies == [(rig.request, 429, b"later", 1.0), (second, 200, b"done", None)]
    assert not rig.connection.closing


def test_an_interim_reply_is_skipped(rig: Rig) -> None:
    rig.connection.data_received(b"HTTP/1.1 100 Continue\r\n\r\n" + http(201, b"x"))
    assert rig.owner.replies == [(rig.request, 201, b"x", None)]


def test_a_server_that_wants_to_close_gets_no_further_request(rig: Rig) -> None:
    rig.connection.data_received(http(201, b"x", connection="close"))
    assert len(rig.owner.replies) == 1
    assert rig.connection.closing


def test_a_server_that_closes_in_the_middle_of_a_reply_loses_the_request(rig: Rig) -> None:
    rig.connection.data_received(http(201, b"0123456789")[:-3])
    rig.connection.connection_lost(None)
    assert rig.owner.replies == []
    assert rig.owner.closed == [(rig.request, "connection closed by the server")]


def test_a_reply_without_a_length_ends_with_the_connection(rig: Rig) -> None:
    rig.connection.data_received(http(201, b"01234", content_length=""))
    assert rig.owner.replies == []
    rig.connection.connection_lost(None)
    assert rig.owner.replies == [(rig.request, 201, b"01234", None)]
    assert rig.owner.closed == [(None, "connection closed by the server")]


def test_a_broken_connection_names_the_error(rig: Rig) -> None:
    rig.connection.connection_lost(OSError("reset by peer"))
    assert rig.owner.closed == [(rig.request, "connection lost: reset by peer")]


def test_an_idle_connection_that_closes_loses_nothing(rig: Rig) -> None:
    rig.connection.data_received(http(201))
    rig.connection.connection_lost(None)
    assert rig.owner.closed == [(None, "connection closed by the server")]


def test_bytes_that_are_not_http_end_the_connection(rig: Rig) -> None:
    rig.connection.data_received(b"SSH-2.0-OpenSSH\r\n")
    assert rig.transport.state == "aborted"
    ((request, text),) = rig.owner.closed
    assert request is rig.request
    assert text.startswith("the reply is not HTTP: ")
    assert isinstance(rig.owner.errors[0], ConnectionFailedError)


def test_a_request_without_a_reply_times_out(rig: Rig) -> None:
    rig.connection.time_out()
    assert rig.transport.state == "aborted"
    assert rig.owner.closed == [(rig.request, "no reply within 3 s")]
    assert isinstance(rig.owner.errors[0], TimedOutError)


def test_a_reply_that_nobody_requested_closes_the_connection(rig: Rig) -> None:
    rig.connection.data_received(http(201))
    rig.connection.data_received(http(200))
    assert len(rig.owner.replies) == 1
    assert rig.connection.closing


def test_a_lost_connection_is_freed_without_the_garbage_collector() -> None:
    """Its parser refers to it, and a server that fails again and again would fill the memory with buffers."""

    class Context:
        pass

    context: Any = Context()
    freed = ref(context)
    connection = HttpConnection(Owner(), context)
    connection.connection_made(Transport())  # type: ignore[arg-type]
    connection.connection_lost(None)
    gc.disable()
    try:
        del connection, context
        assert freed() is None
    finally:
        gc.enable()
