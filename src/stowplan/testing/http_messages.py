"""HTTP/1.1 messages as they pass through: read no further than it takes to know where one ends."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

PIECE_BYTES = 1 << 16
MAX_HEAD_BYTES = 1 << 20
"""The longest head or line of a message that is read."""

_BODILESS = frozenset({"204", "304"})


class MessageHead(NamedTuple):
    """The first line of a message, its headers by name in lower case, and both as they came."""

    first_line: str
    headers: dict[str, str]
    raw: bytes

    @property
    def method(self) -> str:
        """Of a request."""
        return self.first_line.split(" ")[0]

    @property
    def path(self) -> str:
        """Of a request, with its query."""
        return self.first_line.split(" ")[1]

    @property
    def status(self) -> str:
        """Of a response."""
        return self.first_line.split(" ")[1]


async def read_head(reader: asyncio.StreamReader) -> MessageHead | None:
    """The head of the next message, or None at the end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise
        return None
    first_line, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return MessageHead(first_line, {name.lower(): value.strip() for name, _, value in pairs}, raw)


async def request_body(reader: asyncio.StreamReader, head: MessageHead) -> bytes:
    """The body of a request as received; empty without Content-Length and chunks."""
    if "transfer-encoding" in head.headers:
        return b"".join([chunk async for chunk in _chunks(reader)])
    return await reader.readexactly(int(head.headers.get("content-length", 0)))


async def response_body(reader: asyncio.StreamReader, head: MessageHead, method: str) -> AsyncIterator[bytes]:
    """The body of a response in pieces, as they come. A chunk with its frame is a piece."""
    if method == "HEAD" or head.status in _BODILESS:
        return
    if "transfer-encoding" in head.headers:
        async for chunk in _chunks(reader):
            yield chunk
        return
    left = int(head.headers.get("content-length", 0))
    while left:
        piece = await reader.readexactly(min(left, PIECE_BYTES))
        left -= len(piece)
        yield piece


def framed(data: bytes) -> bytes:
    """The data as a chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a body with their frames, the empty one at the end included."""
    size = None
    while size != 0:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        yield line + await reader.readexactly(size + 2)
