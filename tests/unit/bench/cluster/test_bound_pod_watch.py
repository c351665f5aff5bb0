import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.bench.cluster.bound_pod_watch import BoundPodWatch, FrameCounter
from stowplan.testing import NotInTimeError, SurroundingsError

ADDED, MODIFIED = (b'{"type":"%b","object":{"metadata":{"name":"p"}}}\n' % kind for kind in (b"ADDED", b"MODIFIED"))
HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"


@given(st.lists(st.sampled_from([ADDED, MODIFIED])), st.lists(st.integers(1, 60)))
def test_frames_are_counted_however_they_arrive(frames: list[bytes], sizes: list[int]) -> None:
    stream, counter = b"".join(frames), FrameCounter()
    for size in sizes:
        counter.feed(stream[:size])
        stream = stream[size:]
    counter.feed(stream)
    assert counter.added == frames.count(ADDED)
    assert counter.frames == len(frames)


class NoTls:
    """Lets connections through as they are."""

    def wrap_socket(self, plain: socket.socket, server_hostname: str) -> socket.socket:
        return plain


Open = Callable[..., BoundPodWatch[int]]


@pytest.fixture
def server() -> Iterator[tuple[socket.socket, str]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener, f"https://127.0.0.1:{listener.getsockname()[1]}"


def talk(listener: socket.socket, *pieces: bytes, go_on: threading.Event | None = None) -> list[bytes]:
    """Answer one request with these pieces; the rest of them once `go_on` is set."""
    asked: list[bytes] = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            asked.append(peer.recv(65536))
            peer.sendall(pieces[0])
            if go_on is not None:
                go_on.wait(5)
            for piece in pieces[1:]:
                peer.sendall(piece)

    threading.Thread(target=serve, daemon=True).start()
    return asked


def tally(expected: int, probe: Callable[[], int] = lambda: 7) -> BoundPodWatch[int]:
    return BoundPodWatch("/api/v1/pods", "42", expected, probe)


def open_(counter: BoundPodWatch[Any], url: str) -> None:
    counter.open(url, cast(ssl.SSLContext, NoTls()), "secret")


def test_the_first_sign_and_the_last_bind_are_kept(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    moments = iter(range(1, 9))
    counter = tally(2, lambda: next(moments))
    asked = talk(listener, HEAD, MODIFIED, ADDED[:5], ADDED[5:] + ADDED, ADDED)
    open_(counter, url)
    assert counter.wait(5, lambda: True) == (1, 2)
    counter.close()
    assert counter.bound >= 2
    request = asked[0].decode()
    assert request.startswith("GET /api/v1/pods?watch=true&resourceVersion=42&fieldSelector=spec.nodeName%21%3D ")
    assert "Authorization: Bearer secret\r\n" in request
    assert "as=PartialObjectMetadata" in request


def test_waiting_for_the_first_pod(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    counter, go_on = tally(2), threading.Event()
    talk(listener, HEAD, ADDED, go_on=go_on)
    open_(counter, url)
    try:
        counter.wait_first(0.1)
        assert counter.bound == 0
        go_on.set()
        counter.wait_first(5.0)
        assert counter.bound == 1
    finally:
        counter.close()


def test_a_refusal_is_an_error(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    talk(listener, b"HTTP/1.0 403 Forbidden\r\n\r\n")
    with pytest.raises(SurroundingsError, match="403 Forbidden"):
        open_(tally(1), url)


def test_a_server_that_hangs_up_is_an_error(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    counter = tally(2)
    talk(listener, HEAD, ADDED)
    open_(counter, url)
    with pytest.raises(SurroundingsError, match="the server ended it"):
        counter.wait(5, lambda: True)
    counter.close()


def test_a_watch_that_breaks_off_is_taken_up_again(server: tuple[socket.socket, str]) -> None:
    listener, url = server
    counter = tally(3)
    told = ADDED.replace(b'"name"', b'"resourceVersion":"57","name"')
    talk(listener, HEAD, ADDED + told + ADDED[:9])
    open_(counter, url)
    asked = talk(listener, HEAD, ADDED)
    assert counter.wait(5, lambda: True) == (7, 7)
    counter.close()
    assert counter.bound == 3
    assert b"&resourceVersion=57&" in asked[0]


@pytest.mark.parametrize(
    ("alive", "complaint", "kind"),
    [(True, "0 of 2 pods were bound in 0 s", NotInTimeError), (False, "ended after 0 of 2 pods", SurroundingsError)],
)
def test_nobody_waits_for_ever(
    server: tuple[socket.socket, str], alive: bool, complaint: str, kind: type[Exception]
) -> None:
    listener, url = server
    counter, go_on = tally(2), threading.Event()
    talk(listener, HEAD, go_on=go_on)
    open_(counter, url)
    with pytest.raises(kind, match=complaint):
        counter.wait(0, lambda: alive)
    go_on.set()
    counter.close()
