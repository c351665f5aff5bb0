"""DNS rebinding: requests that a web page sends to a port of this machine under its own name."""

import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from stowplan.serving import InsecureServer, Page, Pages, ServingOptions, listen
from stowplan.serving.loopback import foreign_host, is_loopback


@pytest.mark.parametrize(
    ("host", "origin", "refused"),
    [
        ("", "", False),
        ("localhost", "", False),
        ("LOCALHOST.:10259", "", False),
        ("dev.localhost:1", "", False),
        ("127.1.2.3:80", "http://127.0.0.1", False),
        ("[::1]:80", "https://[::1]:3000", False),
        ("example.com", "", True),
        ("localhost.example.com", "", True),
        ("127.0.0.1.nip.io", "", True),
        ("[::ffff:127.0.0.1]:80", "", False),
        ("[oops", "", True),
        ("localhost", "http://example.com", True),
        ("localhost", "null", True),
    ],
)
def test_which_requests_are_refused(host: str, origin: str, refused: bool) -> None:
    assert (foreign_host(host, origin) is not None) == refused


@pytest.mark.parametrize(
    ("local_address", "loopback"),
    [
        (("127.0.0.1", 80), True),
        (("127.1.2.3", 80), True),
        (("::1", 80, 0, 0), True),
        (("::ffff:127.0.0.1", 80, 0, 0), True),
        (["127.0.0.1", 80], True),
        (("10.0.0.1", 80), False),
        (("::ffff:10.0.0.1", 80, 0, 0), False),
        (("fe80::1%eth0", 80, 0, 2), False),
        (("localhost", 80), False),
        ("/run/socket", False),
        (None, False),
    ],
)
def test_which_addresses_only_this_machine_reaches(local_address: Any, loopback: bool) -> None:
    assert is_loopback(local_address) == loopback


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_connections_that_arrive_on_loopback_refuse(address: str) -> None:
    listener = listen(ServingOptions(address=address, port=0))
    pages = Pages()
    pages.add("/healthz", lambda request: Page(200, b"ok"))
    server = InsecureServer({listener: pages})
    server.start()
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"
        assert status(url) == 200
        assert status(url, Host="rebound.example.com") == 421
        assert status(url, Origin="http://example.com") == 421
    finally:
        server.stop()


def test_names_that_are_allowed() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    pages = Pages()
    pages.add("/healthz", lambda request: Page(200, b"ok"))
    server = InsecureServer({listener: pages}, allowed_hosts={"extender.internal"})
    server.start()
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"
        assert status(url, Host="Extender.internal:9090") == 200
        assert status(url, Host="localhost", Origin="http://extender.internal") == 200
        assert status(url, Host="rebound.example.com") == 421
    finally:
        server.stop()


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
