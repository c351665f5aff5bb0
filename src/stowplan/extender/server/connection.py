"""One connection of a client: requests in, one at a time, responses out.

Bodies of requests are some tens of megabytes of nodes, and taking them in is most of what such a request costs. So
they are received where they stay: the socket is read right into memory of the announced length, without chunks to join
and without a copy.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from enum import Enum, auto
from math import inf
from time import monotonic
from typing import Any, Protocol, cast

from stowplan import logs
from stowplan.extender.server.messages import (
    BadRequestError,
    HeadReader,
    HttpRequest,
    RequestHead,
    Response,
    head_of,
    text,
)

log = logs.get(__name__)

_HEAD_ROOM = 64 * 1024
_SCRATCH = bytearray(256 * 1024)
_KEPT_AS_BYTES = 256 * 1024
"""Bodies up to this size are handed on as bytes; a copy of them costs next to nothing."""
_OURS = 2
"""References to a body that nobody but us holds: the name and the argument of the question."""
_JOINED = 64 * 1024
"""Up to this size head and body of a response are one piece."""

RECEIVE_SECONDS = 60.0
"""A request has to be there so soon after its first byte."""
LINGER_SECONDS = 10.0
"""How long the rest of a request is still taken in that was refused by its head, so that the client reads why."""


class Site(Protocol):
    """Whoever has the connections."""

    largest_body: int
    keep_alive: float
    draining: bool

    def admit(self, head: RequestHead, certificate: Any) -> Response | None:
        """The answer to a request whose body need not be looked at, None to go on."""

    def respond(self, request: HttpRequest) -> Awaitable[Response]:
        """The answer to a whole request."""

    def outgrown(self, head: RequestHead) -> Response:
        """The answer to a request whose body, told of no length, has got too long."""

    def opened(self, connection: ServerConnection) -> None: ...

    def abandoned(self, head: RequestHead) -> None:
        """Its client has gone, or at least has nothing more to say, while the request is being answered."""

    def closed(self, connection: ServerConnection) -> None: ...


_NO_HEAD = RequestHead("", "", "", {}, False, 0)


class _ReadState(Enum):
    HEAD = auto()
    BODY = auto()
    CHUNKS = auto()
    BUSY = auto()
    SENDING = auto()
    """There is an answer, which the client is slow to take; what else it asks has to wait until then."""
    LINGER = auto()


_LIMITS = {_ReadState.LINGER: LINGER_SECONDS, _ReadState.BUSY: inf}
"""Seconds that a connection may stay in a state, where that is not how long a request may take to come."""


class ServerConnection(asyncio.BufferedProtocol):
    """A connection, from its first byte to its last."""

    def __init__(self, site: Site, loop: asyncio.AbstractEventLoop) -> None:
        self._site = site
        self._loop = loop
        self._state = _ReadState.HEAD
        self._since = monotonic()
        self._room = bytearray(_HEAD_ROOM)
        self._used = 0
        self._body = bytearray()
        self._view = memoryview(self._body)
        self._filled = 0
        self._spare: bytearray | None = None
        self._task: asyncio.Task[None] | None = None
        self._paused = False
        self._clogged = False
        """Whether the client leaves much unread of what was sent."""
        self._half_closed = False
        """Whether the client sends no more, and may yet read."""
        self._transport: asyncio.Transport
        self._head = _NO_HEAD
        self._reader = HeadReader(0)

    @property
    def busy(self) -> bool:
        """Whether a request has come, at least in part, and is not answered yet."""
        return self._state is not _ReadState.LINGER and (self._state is not _ReadState.HEAD or self._used > 0)

    def close(self) -> None:
        """After what has been written."""
        self._transport.close()

    def look_after(self, now: float) -> None:
        """Close a connection that has been idle, or slow, for too long."""
        idle = self._state is _ReadState.HEAD and not self._used
        limit = self._site.keep_alive if idle else _LIMITS.get(self._state, RECEIVE_SECONDS)
        if now - self._since > limit:
            self._transport.abort() if self._transport.get_write_buffer_size() else self._transport.close()

    # What the event loop calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._site.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._site.closed(self)
        if self._state is _ReadState.BUSY and not self._half_closed:
            self._site.abandoned(self._head)

    def eof_received(self) -> bool:
        """Most clients that say so are gone altogether, but some only have no more to ask. Whatever is there of whole
        requests is answered, as far as that can be told: over TLS both directions end at once."""
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
            return self._view[self._filled :]
        if self._state is _ReadState.LINGER:
            return memoryview(_SCRATCH)
        return memoryview(self._room)[self._used :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._state is _ReadState.BODY:
            self._filled += nbytes
            if self._filled == len(self._body):
                self._dispatch(self._body)
        elif self._state is not _ReadState.LINGER:
            if self._state is _ReadState.HEAD and not self._used:
                self._since = monotonic()
            self._used += nbytes
            self._go_on()

    # Receiving
    def _go_on(self) -> None:
        """Make what can be made of the bytes at hand."""
        if self._transport.is_closing():
            return
        try:
            if self._state is _ReadState.HEAD:
                self._look_for_head()
            elif self._state is _ReadState.CHUNKS:
                self._take_chunks()
        except BadRequestError as problem:
            self._refuse(text(400, str(problem)))
        self._mind_the_room()

    def _mind_the_room(self) -> None:
        """Read on only where there is room. Next requests may come before this one is answered."""
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
        self._reader = HeadReader(self._site.largest_body)
        head = self._head = self._reader.read(bytes(self._room[:end]))
        self._drop(end)
        refusal = self._site.admit(head, self._transport.get_extra_info("peercert"))
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
        self._body = self._memory(length)
        self._body[:there] = self._room[:there]
        self._drop(there)
        self._filled = there
        if there == length:
            self._dispatch(self._body)
        else:
            self._view = memoryview(self._body)
            self._state = _ReadState.BODY
            self._end_if_half_closed()

    def _memory(self, length: int) -> bytearray:
        """Room for a body. That of the last one is used again if it is large, since fresh memory costs more than what
        is then received into it, and if nobody holds on to it, such as a plugin that still is at it."""
        spare, self._spare = self._spare, None
        if spare is None or sys.getrefcount(spare) > _OURS or not length / 1.1 < len(spare) < 2 * length:
            return bytearray(length)
        try:
            del spare[length:]
            spare.extend(bytes(length - len(spare)))
        except BufferError:
            return bytearray(length)  # A view of it is left.
        return spare

    def _take_chunks(self) -> None:
        data = bytes(self._room[: self._used])
        self._used = 0
        body = self._reader.read_chunks(data)
        if self._reader.too_long:
            self._refuse(self._site.outgrown(self._head))
        elif body is not None:
            # Whether bytes after the last chunk belong to a next request is not known here, so there is none.
            self._head = self._head._replace(keep_alive=False)
            self._dispatch(body)
        else:
            self._end_if_half_closed()

    def _end_if_half_closed(self) -> None:
        """The rest of a request will never come."""
        if self._half_closed:
            self._transport.close()

    def _drop(self, count: int) -> None:
        """Forget bytes at the beginning; the room itself must keep its size, as the loop may hold on to it."""
        rest = self._used - count
        self._room[:rest] = self._room[count : self._used]
        self._used = rest

    # Answering
    def _dispatch(self, body: bytes | bytearray) -> None:
        self._state = _ReadState.BUSY
        self._view = memoryview(b"")
        self._body = bytearray()
        if isinstance(body, bytearray) and len(body) > _KEPT_AS_BYTES:
            self._spare = body
        peer = self._transport.get_extra_info("peername")
        whole = bytes(body) if len(body) <= _KEPT_AS_BYTES else body
        request = HttpRequest(self._head, whole, self._since, str(peer[0]) if peer else "")
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: HttpRequest) -> None:
        try:
            response = await self._site.respond(request)
        except Exception as bug:
            log.error(bug, "Failed to answer a request", path=request.head.path)
            response = text(500, f"internal error: {type(bug).__name__}")
        close = self._site.draining or not request.head.keep_alive
        self._write(response, close=close)
        self._task = None
        self._begin_anew(close)

    def _refuse(self, response: Response, *, keep: bool = False) -> None:
        """Answer without having looked at the body. What is still to come of it is thrown away."""
        close = self._site.draining or not keep or not self._head.keep_alive
        self._write(response, close=close)
        if keep:
            self._begin_anew(close)
            return
        self._state, self._since, self._used = _ReadState.LINGER, monotonic(), 0
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def _begin_anew(self, close: bool) -> None:
        """Wait for the next request, once the client has taken the answer to the last one."""
        self._state, self._since = _ReadState.SENDING if self._clogged else _ReadState.HEAD, monotonic()
        if close or (self._half_closed and not self._used):
            self._transport.close()
            return
        if self._used and not self._clogged:
            self._loop.call_soon(self._go_on)  # Not at once: there may be hundreds in line.

    def _write(self, response: Response, *, close: bool) -> None:
        if self._transport.is_closing():
            return
        head = head_of(response, close=close)
        if self._head.method == "HEAD":
            self._transport.write(head)
        elif len(response.body) <= _JOINED:
            self._transport.write(head + response.body)
        else:
            self._transport.writelines((head, response.body))


def too_large(size: int, largest: int) -> Response:
    what = f"a body of {size:,} bytes" if size else "the body"
    return text(413, f"{what} is larger than the {largest:,} bytes that are accepted (--max-body-size)")
