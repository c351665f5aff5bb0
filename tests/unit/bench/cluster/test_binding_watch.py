import json
import socket
import ssl
import threading
from typing import cast

import pytest
from tests.unit.bench.cluster.test_bound_pod_watch import HEAD, NoTls, server, talk

from stowplan.bench.cluster.binding_watch import BindingWatch, ObservedBinding, ObservedBindings
from stowplan.testing import ControlPlane, KubeApi, SurroundingsError
from stowplan.testing.waiting import wait_until

__all__ = ["server"]


def frame(name: str, version: int, kind: str = "ADDED") -> bytes:
    meta = {"name": name, "resourceVersion": str(version)}
    pod = {"metadata": meta, "spec": {"nodeName": f"node-of-{name}", "priority": 7}}
    return json.dumps({"type": kind, "object": pod}, separators=(",", ":")).encode() + b"\n"


class Plane:
    """The address of a control plane, and its only reply to a list."""

    def __init__(self, url: str) -> None:
        self.url = url

    def tls(self) -> ssl.SSLContext:
        return cast(ssl.SSLContext, NoTls())

    def request(self, *args: object, **params: object) -> object:
        return {"metadata": {"resourceVersion": "42"}}


def watch_at(url: str) -> BindingWatch:
    plane = Plane(url)
    return BindingWatch(cast(ControlPlane, plane), cast(KubeApi, plane))


def test_added_pods_are_bindings() -> None:
    observed = ObservedBindings(clock=lambda: 3.5)
    observed.feed(frame("a", 1) + frame("a", 2, "MODIFIED") + frame("b", 3)[:9])
    assert observed.bindings == [ObservedBinding(3.5, "node-of-a", 7, "a")]


def test_a_watch_that_the_server_ends_is_resumed(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    close = threading.Event()
    talk(listener, HEAD, frame("p-1", 57))
    with watch_at(url) as watch:
        again = talk(listener, HEAD)
        wait_until(lambda: again, timeout=5.0, every=0.01)  # Before another thread accepts the next connection.
        last = talk(listener, HEAD + frame("p-2", 60) + frame("q-1", 61), go_on=close)
        watch.wait("p-", 2, timeout=5.0)
        assert [each.name for each in watch.bindings[:2]] == ["p-1", "p-2"]
    close.set()
    assert b"&resourceVersion=57&" in again[0]
    assert b"&resourceVersion=57&" in last[0]
    assert b"Accept: application/json\r\n" in last[0]


def test_a_watch_that_cannot_be_resumed_is_an_error(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    talk(listener, HEAD)
    with watch_at(url) as watch, pytest.raises(SurroundingsError, match="the server ended it"):
        watch.wait("p-", 1, timeout=5.0)
