"""HTTP/1.1 requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url

from stowplan.errors import StowplanError

TEXT, JSON = "text/plain; charset=utf-8", "application/json"
MAX_HEAD_BYTES = 64 * 1024
"""Of a request's head; the trailer after a chunked body may have as many."""

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


class BadRequestError(StowplanError):
    """The request is not valid HTTP/1.1."""


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = {}


class RequestHead(NamedTuple):
    """A request before its body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By name in lower case."""
    keep_alive: bool
    length: int
    """Length of the body; -1 for a chunked body."""


class HttpRequest(NamedTuple):
    """A request with its body and its client."""

    head: RequestHead
    body: bytes | bytearray
    began: float
    """When its first byte arrived, by the monotonic clock."""
    client: str
    """The address of the client."""


class HeadReader:
    """Reads the head of a request, and the body if it comes in chunks."""

    def __init__(self, largest: int) -> None:
        self._parser = HttpRequestParser(self)
        self._largest = largest
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self.too_long = False
        self._has_head = False
        self._overhead = 0
        """Bytes since the data in which the last chunk began or went on: a chunk's extension or the trailer."""
        self._keep_alive = False
        self.complete = False

    def read(self, data: bytes) -> RequestHead:
        """Parse a complete head. Raises BadRequestError."""
        self._feed(data)
        try:
            url = parse_url(self._url)
        except HttpParserError as error:
            raise BadRequestError(f"not a path: {self._url!r:.200}") from error
        headers = self._headers
        return RequestHead(
            self._parser.get_method().decode(),
            unquote((url.path or b"/").decode("latin-1")),
            (url.query or b"").decode("latin-1"),
            headers,
            self._keep_alive,
            self._length(),
        )

    @property
    def received_bytes(self) -> int:
        """Bytes of the chunked body and of its trailer so far."""
        return len(self._body) + self._overhead

    @property
    def trailer_too_long(self) -> bool:
        return self._overhead > MAX_HEAD_BYTES

    def read_chunks(self, data: bytes) -> bytearray | None:
        """Parse more of the body; returns the body when it is complete. Raises BadRequestError."""
        self._overhead += len(data)
        self._feed(data)
        return self._body if self.complete else None

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            return  # An Upgrade header, which may be ignored.
        except HttpParserError as error:
            raise BadRequestError(f"not a request: {' '.join(str(error).split())}") from error

    def _length(self) -> int:
        if "chunked" in self._headers.get("transfer-encoding", "").lower():
            return -1
        return int(self._headers.get("content-length", "0") or "0")

    # Called by the parser
    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # A field of the trailer.
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_head = True
        self._keep_alive = self._parser.should_keep_alive()

    def on_chunk_header(self) -> None:
        self._overhead = 0

    def on_body(self, part: bytes) -> None:
        self._overhead = 0
        self.too_long = self.too_long or len(self._body) + len(part) > self._largest
        if not self.too_long:
            self._body += part

    def on_message_complete(self) -> None:
        self.complete = True


def head_of(response: Response, *, close: bool) -> bytes:
    """The head of a response, always with Content-Length, so that connections persist."""
    lines = [
        _LINES.get(response.status) or f"HTTP/1.1 {response.status} Unknown\r\n",
        f"Content-Type: {response.content_type}\r\nContent-Length: {len(response.body)}\r\n",
        *(f"{name}: {value}\r\n" for name, value in response.headers.items()),
    ]
    if close:
        lines.append("Connection: close\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1")


def text(status: int, message: str, **headers: Any) -> Response:
    """A plain-text response."""
    return Response(status, f"{message}\n".encode(), TEXT, headers)
