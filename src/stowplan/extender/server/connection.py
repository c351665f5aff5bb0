"""One connection of a client: requests in, one at a time, responses out.

Request bodies contain tens of megabytes of nodes, and receiving them is most of the cost of a request. The socket is
read right into the memory in which the body is parsed (`BodyBuffer`), without chunks to join and without a copy.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from contextlib import suppress
from enum import Enum, auto
from http import HTTPStatus
from math import inf
from time import monotonic
from typing import Any, Protocol, cast

from stowplan import logs
from stowplan.extender.server.body_buffer import BodyBudget, BodyBuffer, OverBudgetError
from stowplan.extender.server.messages import (
    MAX_HEAD_BYTES,
    BadRequestError,
    HeadReader,
    HttpRequest,
    RequestHead,
    Response,
    head_of,
    text,
)
from stowplan.serving.loopback import is_loopback
from stowplan.serving.open_connections import ConnectionStanding, peer_of

log = logs.get(__name__)

_SCRATCH = bytearray(256 * 1024)
_MAX_JOINED_BYTES = 64 * 1024
"""Up to this size, head and body of a response are written as one piece."""

RECEIVE_SECONDS = 60.0
"""Time limit from the first byte of a request to its last."""
FIRST_REQUEST_SECONDS = 32.0
"""Time limit from the connect to the first byte of a request."""
LINGER_SECONDS = 10.0
"""How long the rest of a refused request is still read, so that the client reads the response."""


class Site(Protocol):
    """The server of the connections."""

    largest_body: int
    keep_alive: float
    draining: bool
    budget: BodyBudget

    def admit(self, head: RequestHead, certificate: Any, *, on_loopback: bool) -> Response | None:
        """The response to a request that is refused by its head; None to read the body."""

    def respond(self, request: HttpRequest) -> Awaitable[Response]:
        """The response to a complete request."""

    def outgrown(self, head: RequestHead) -> Response:
        """The response to a chunked body that exceeds the limit."""

    def over_budget(self, head: RequestHead, why: str) -> Response:
        """The response to a body that exceeds the budget of all connections."""

    def abandoned(self, head: RequestHead) -> None:
        """The client closed the connection, or its sending half, while the request is being answered."""

    def closed(self, connection: ServerConnection) -> None: ...


_NO_HEAD = RequestHead("", "", "", {}, False, 0)


class _ReadState(Enum):
    HEAD = auto()
    BODY = auto()
    CHUNKS = auto()
    BUSY = auto()
    SENDING = auto()
    """The client reads the response slowly; its next request waits."""
    LINGER = auto()


_LIMITS = {_ReadState.LINGER: LINGER_SECONDS, _ReadState.BUSY: inf}
"""Time limits by state, if not RECEIVE_SECONDS."""


class ServerConnection(asyncio.BufferedProtocol):
    """One connection, from the accept to the close of its socket."""

    def __init__(self, site: Site, loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> None:
        self._site = site
        self._socket = accepted
        self.in_handshake = True
        """Whether the TLS handshake has not ended yet; without TLS, for an instant."""
        self._loop = loop
        self._state = _ReadState.HEAD
        self.peer = peer_of(accepted)
        self._since = self._opened_at = monotonic()
        self._awaits_first_request = True
        """Whether no request has arrived yet with its whole head."""
        self._has_access = False
        """Whether a verb has been answered."""
        self._room = bytearray()
        """For heads and chunks; allocated when the first byte arrives."""
        self._used = 0
        self._buffer = BodyBuffer(site.budget)
        self._task: asyncio.Task[None] | None = None
        self._paused = False
        self._clogged = False
        """Whether the write buffer is full."""
        self._half_closed = False
        """Whether the client has closed its sending half."""
        self._transport: asyncio.Transport
        self._head = _NO_HEAD
        self._reader = HeadReader(0)

    @property
    def busy(self) -> bool:
        """Whether a request has arrived, at least in part, and is not answered yet."""
        return self._state is not _ReadState.LINGER and (self._state is not _ReadState.HEAD or self._used > 0)

    @property
    def standing(self) -> ConnectionStanding:
        if self._state is _ReadState.BUSY:
            return ConnectionStanding.ANSWERING
        if not self._has_access:
            return ConnectionStanding.UNPROVEN
        return ConnectionStanding.RECEIVING if self.busy else ConnectionStanding.IDLE

    @property
    def waiting_since(self) -> float:
        return self._since if self._has_access else self._opened_at

    def close(self) -> None:
        """Close after the written data is sent."""
        self.abort() if self.in_handshake else self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if not self.in_handshake:
            self._transport.abort()
            return
        with suppress(OSError):  # The client has gone.
            self._socket.shutdown(socket.SHUT_RDWR)  # The handshake fails by this.

    def close_if_idle(self, now: float) -> None:
        """Close a connection that exceeds its time limit; the TLS handshake has its own."""
        if self.in_handshake:
            return
        idle = self._state is _ReadState.HEAD and not self._used
        limit = _LIMITS.get(self._state, RECEIVE_SECONDS)
        if idle:
            limit = FIRST_REQUEST_SECONDS if self._awaits_first_request else self._site.keep_alive
        if now - self._since > limit:
            self._transport.abort() if self._transport.get_write_buffer_size() else self._transport.close()

    # Called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.in_handshake = False

    def connection_lost(self, error: Exception | None) -> None:
        self._site.closed(self)
        if self._state is not _ReadState.BUSY:
            self._buffer.free()
        if self._state is _ReadState.BUSY and not self._half_closed:
            self._site.abandoned(self._head)

    def eof_received(self) -> bool:
        """Most clients have disconnected, but some have only closed their sending half: complete requests are answered.
        Over TLS both directions end at once."""
        if self._state is _ReadState.BUSY:
            self._site.abandoned(self._head)
        self._half_closed = True
        self._loop.call_soon(self._go_on)
        waiting = self._state in (_ReadState.BUSY, _ReadState.SENDING) or (
            self._state is _ReadState.HEAD and self._used > 0
        )
        return waiting and self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._clogged = True
        if self._state is _ReadState.HEAD:
            self._state, self._since = _ReadState.SENDING, monotonic()

    def resume_writing(self) -> None:
        self._clogged = False
        if self._state is _ReadState.SENDING and not self._transport.is_closing():
            self._begin_anew(close=False)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._state is _ReadState.BODY:
            return self._buffer.room()
        if self._state is _ReadState.LINGER:
            return memoryview(_SCRATCH)
        if not self._room:
            self._room = bytearray(MAX_HEAD_BYTES)
        return memoryview(self._room)[self._used :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._state is _ReadState.BODY:
            try:
                self._buffer.received(nbytes)
            except OverBudgetError as problem:
                self._refuse(self._site.over_budget(self._head, str(problem)))
                return
            if self._buffer.complete:
                self._dispatch(self._buffer.take())
        elif self._state is not _ReadState.LINGER:
            if self._state is _ReadState.HEAD and not self._used:
                self._since = monotonic()
            self._used += nbytes
            self._go_on()

    # Receiving
    def _go_on(self) -> None:
        """Process the received bytes."""
        if self._transport.is_closing():
            return
        try:
            if self._state is _ReadState.HEAD:
                self._look_for_head()
            elif self._state is _ReadState.CHUNKS:
                self._take_chunks()
        except BadRequestError as problem:
            self._refuse(text(400, str(problem)))
        except OverBudgetError as problem:
            self._refuse(self._site.over_budget(self._head, str(problem)))
        self._update_reading()

    def _update_reading(self) -> None:
        """Pause reading while the buffer is full. Requests may be pipelined."""
        full = self._used == len(self._room) and self._state not in (_ReadState.BODY, _ReadState.LINGER)
        if full == self._paused or self._transport.is_closing():
            return
        self._paused = full
        if full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _look_for_head(self) -> None:
        end = self._room.find(b"\r\n\r\n", 0, self._used) + 4
        if end < 4:
            self._end_if_half_closed()
            if self._used == len(self._room):
                self._refuse(text(431, "the head of the request is too long"))
            return
        self._awaits_first_request = False
        self._reader = HeadReader(self._site.largest_body)
        head = self._head = self._reader.read(bytes(self._room[:end]))
        self._drop(end)
        certificate, address = map(self._transport.get_extra_info, ("peercert", "sockname"))
        refusal = self._site.admit(head, certificate, on_loopback=is_loopback(address))
        if refusal is not None:
            there = 0 <= head.length <= self._used
            self._drop(head.length if there else 0)
            self._refuse(refusal, keep=there)
            return
        if head.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if head.length < 0:
            self._state = _ReadState.CHUNKS
            self._take_chunks()
        else:
            self._take_body(head.length)

    def _take_body(self, length: int) -> None:
        there = min(self._used, length)
        self._buffer.begin(length, self._room[:there])
        self._drop(there)
        if self._buffer.complete:
            self._dispatch(self._buffer.take())
        else:
            self._state = _ReadState.BODY
            self._end_if_half_closed()

    def _take_chunks(self) -> None:
        data = bytes(self._room[: self._used])
        self._used = 0
        self._buffer.reserve(self._reader.received_bytes + len(data))
        body = self._reader.read_chunks(data)
        if self._reader.too_long:
            self._refuse(self._site.outgrown(self._head))
        elif self._reader.trailer_too_long:
            self._refuse(text(431, "the trailer of the request is too long"))
        elif body is not None:
            # Bytes after the last chunk cannot be told from a next request here, so the connection is closed.
            self._head = self._head._replace(keep_alive=False)
            self._dispatch(body)
        else:
            self._end_if_half_closed()

    def _end_if_half_closed(self) -> None:
        """The rest of the request cannot arrive."""
        if self._half_closed:
            self._transport.close()

    def _drop(self, count: int) -> None:
        """Remove bytes at the start; the buffer keeps its size, since the event loop may hold a view."""
        rest = self._used - count
        self._room[:rest] = self._room[count : self._used]
        self._used = rest

    # Answering
    def _dispatch(self, body: bytes | bytearray) -> None:
        self._state = _ReadState.BUSY
        peer = self._transport.get_extra_info("peername")
        request = HttpRequest(self._head, body, self._since, str(peer[0]) if peer else "")
        del body
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: HttpRequest) -> None:
        try:
            response = await self._site.respond(request)
        except Exception as bug:
            log.error(bug, "Failed to answer a request", path=request.head.path)
            response = text(500, f"internal error: {type(bug).__name__}")
        close = self._site.draining or not request.head.keep_alive
        self._has_access = self._has_access or (request.head.method == "POST" and response.status == HTTPStatus.OK)
        del request
        self._write(response, close=close)
        self._task = None
        if self._transport.is_closing():
            self._buffer.free()
        else:
            self._buffer.finish()
        self._begin_anew(close)

    def _refuse(self, response: Response, *, keep: bool = False) -> None:
        """Respond without reading the body, the rest of which is discarded."""
        close = self._site.draining or not keep or not self._head.keep_alive
        self._write(response, close=close)
        if keep:
            self._begin_anew(close)
            return
        self._state, self._since, self._used = _ReadState.LINGER, monotonic(), 0
        self._buffer.free()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def _begin_anew(self, close: bool) -> None:
        """Wait for the next request, after the client has read the last response."""
        self._state, self._since = _ReadState.SENDING if self._clogged else _ReadState.HEAD, monotonic()
        if close or (self._half_closed and not self._used):
            self._transport.close()
            return
        if self._used and not self._clogged:
            self._loop.call_soon(self._go_on)  # Not recursively: hundreds of requests may be pipelined.

    def _write(self, response: Response, *, close: bool) -> None:
        if self._transport.is_closing():
            return
        head = head_of(response, close=close)
        if self._head.method == "HEAD":
            self._transport.write(head)
        elif len(response.body) <= _MAX_JOINED_BYTES:
            self._transport.write(head + response.body)
        else:
            self._transport.writelines((head, response.body))


def too_large(size: int, largest: int) -> Response:
    what = f"a body of {size:,} bytes" if size else "the body"
    return text(413, f"{what} is larger than the {largest:,} bytes that are accepted (--max-body-size)")
