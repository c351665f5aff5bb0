"""The stream over HTTP: events as they happen, resuming by id, slow clients, comments, and the end of the server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.builders.engine_host import Host
from tests.builders.objects import node, pod
from tests.unit.web.pages import Browser, engine_source, served


class Stream:
    """Reads events from a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")
        self.last_id = ""

    def event(self, name: str) -> Any:
        """The data of the next event of this name."""
        while True:
            found, data = self.block()
            if found == name:
                return data

    def block(self) -> tuple[str, Any]:
        lines: dict[str, str] = {}
        while line := self._file.readline().decode():
            text = line.rstrip("\r\n")
            if text.startswith(":"):
                lines["event"] = "comment"
            elif ": " in text:
                key, _, value = text.partition(": ")
                lines[key] = value
            elif not text and "event" in lines:
                self.last_id = lines.get("id", self.last_id)
                return lines["event"], json.loads(lines.get("data", "null"))
        raise EOFError


@contextmanager
def streaming(browser: Browser, query: str = "", **headers: str) -> Iterator[Stream]:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", browser.port))
        sent = {"Host": f"127.0.0.1:{browser.port}", "Authorization": f"Bearer {browser.access.token}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        connection.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\n{lines}\r\n".encode())
        yield Stream(connection)


@pytest.fixture
def host() -> Host:
    return Host(node("a"), check_invariants=False)


@pytest.fixture
def browser(host: Host) -> Iterator[Browser]:
    with engine_source(host) as source, served(source) as browser:
        yield browser


def put(browser: Browser, host: Host, *items: Any) -> None:
    """Changes the cluster on the thread that owns it."""
    import asyncio

    asyncio.run(browser.source.owner.read(lambda: host.put(*items)))


def test_changes_arrive_and_a_reconnect_gets_those_that_it_missed(browser: Browser, host: Host) -> None:
    map_ = browser.data("map")
    browser.data("pods")
    with streaming(browser, f"?since={map_['epoch']}-{map_['revision']}&pods=1") as stream:
        put(browser, host, node("b"))
        joined = stream.event("joined")
        assert joined["nodes"]["name"] == ["b"]
        assert stream.event("feed")["items"][0]["text"] == "Node b joined"
        put(browser, host, pod("p", "b", requests={"cpu": 1}))
        assert stream.event("nodes")["slot"] == joined["slot"]
        assert stream.event("feed")["items"][0]["text"] == "default/p is on b"
        last = stream.last_id
    assert [each["kind"] for each in browser.data("queue")["feed"]] == ["bound", "joined"]
    put(browser, host, pod("q", "a", requests={"cpu": 2}))
    with streaming(browser, "?pods=1", Last_Event_ID=last) as stream:
        while 2000 not in stream.event("nodes")["requested"]["cpu"]:
            pass
        assert stream.event("pods")["name"]
    with streaming(browser, Last_Event_ID="other-5") as stream:
        assert stream.block() == ("reset", {"epoch": map_["epoch"]})


def test_pending_pods_and_the_queue_are_in_the_stream(browser: Browser, host: Host) -> None:
    hello = browser.data("hello")
    with streaming(browser, f"?since={hello['epoch']}-{hello['revision']}") as stream:
        put(browser, host, pod("big", requests={"cpu": 100}))
        assert stream.event("queue")["counts"]["active"] == 1
        pending = stream.event("pending")
        assert (pending["pods"], [group["sample"] for group in pending["groups"]]) == (1, [["default/big"]])
        assert pending["order"] == [pending["groups"][0]["id"]]


def test_a_silent_stream_is_kept_open_by_comments(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.web.stream.KEEP_ALIVE_SECONDS", 0.2)
    with streaming(browser) as stream:
        stream.event("comment")


def test_a_client_that_does_not_read_gets_merged_changes(browser: Browser, host: Host) -> None:
    """Its revision stays behind while its socket is full; what it then gets is the present state."""
    names = [f"{'n' * 200}-{number}" for number in range(600)]
    put(browser, host, *(node(name) for name in names))
    hello = browser.data("hello")
    with streaming(browser, f"?since={hello['epoch']}-{hello['revision']}") as stream:
        for round_ in range(20):
            put(browser, host, *(node(name, cpu=10 + round_) for name in names))
            time.sleep(0.26)
        put(browser, host, node("last"))
        received = 0
        while True:
            name, data = stream.block()
            if name == "joined":
                received += 1
                if "last" in data["nodes"]["name"]:
                    break
        assert received < 15


def test_the_end_of_the_server_ends_the_streams(host: Host) -> None:
    with engine_source(host) as source:
        with served(source) as browser, streaming(browser) as stream:
            stream.event("queue")
            began = time.monotonic()
        assert time.monotonic() - began < 5
