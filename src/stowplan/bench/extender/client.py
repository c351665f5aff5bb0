"""An HTTP client with little overhead, so that the server dominates the measured time."""

from __future__ import annotations

import socket
from time import perf_counter
from typing import NamedTuple

from stowplan.errors import StowplanError

_HEAD = (
    "POST /{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: {length}\r\n"
    "Content-Type: application/json\r\nAccept-Encoding: identity\r\n\r\n"
)
_PIECE_BYTES = 1 << 20


class AnswerError(StowplanError):
    """An extender gave no usable reply."""


class BenchReply(NamedTuple):
    """The body of a reply, and the seconds from the first byte of the request to the last of the reply."""

    body: bytes
    seconds: float


class BenchClient:
    """One connection that stays open, as kube-scheduler keeps it."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._room = bytearray(_PIECE_BYTES)

    @staticmethod
    def answers(port: int) -> bool:
        """Whether the port accepts connections."""
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    def ask(self, verb: str, body: bytes) -> BenchReply:
        head = _HEAD.format(verb=verb, length=len(body)).encode()
        begun_at = perf_counter()
        self._socket.sendall(head)
        self._socket.sendall(body)
        answer = self._receive()
        return BenchReply(answer, perf_counter() - begun_at)

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        head, rest = self._receive_head()
        lines = head.decode("latin-1").split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines[1:])}
        if lines[0].split()[1] != "200":
            raise AnswerError(f"the extender answers {lines[0]}: {rest[:200]!r}")
        if headers.get("transfer-encoding") == "chunked":
            return self._receive_chunks(rest)
        return self._receive_exactly(rest, int(headers["content-length"]))

    def _receive_head(self) -> tuple[bytes, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest

    def _receive_exactly(self, rest: bytes, length: int) -> bytes:
        body = bytearray(length)
        body[: len(rest)] = rest
        filled, view = len(rest), memoryview(body)
        while filled < length:
            received = self._socket.recv_into(view[filled:])
            if not received:
                raise AnswerError("the extender closed the connection")
            filled += received
        return bytes(view)

    def _receive_chunks(self, data: bytes) -> bytes:
        """Go sends bodies beyond its buffer in chunks; they are joined after all have arrived."""
        pieces = [data]
        tail = data[-5:]
        while tail != b"0\r\n\r\n":
            piece = self._more()
            pieces.append(piece)
            tail = (tail + piece)[-5:]
        whole, at = b"".join(pieces), 0
        chunks: list[bytes] = []
        while True:
            end = whole.index(b"\r\n", at)
            size = int(whole[at:end], 16)
            if not size:
                return b"".join(chunks)
            chunks.append(whole[end + 2 : end + 2 + size])
            at = end + 4 + size

    def _more(self) -> bytes:
        received = self._socket.recv_into(self._room)
        if not received:
            raise AnswerError("the extender closed the connection")
        return bytes(memoryview(self._room)[:received])
