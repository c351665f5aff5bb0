"""Where HTTP messages begin and end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from stowplan.testing.http_messages import MessageHead, framed, read_head, request_body, response_body

T = TypeVar("T")


def reading(data: bytes, read: Callable[[asyncio.StreamReader], Awaitable[T]]) -> tuple[T, bytes]:
    """What is read from these bytes, and what is left of them."""

    async def run() -> tuple[T, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await read(reader), await reader.read()

    return asyncio.run(run())


def head_of(*headers: str, first: str = "HTTP/1.1 200 OK") -> MessageHead:
    head, _ = reading("\r\n".join([first, *headers, "", ""]).encode(), read_head)
    assert head is not None
    return head


def test_head() -> None:
    raw = b"POST /a?b=c HTTP/1.1\r\nHost: x:1\r\nContent-LENGTH:  3 \r\n\r\n"
    head, left = reading(raw + b"abc", read_head)
    assert head == ("POST /a?b=c HTTP/1.1", {"host": "x:1", "content-length": "3"}, raw)
    assert (head.method, head.path, left) == ("POST", "/a?b=c", b"abc")


def test_no_more_messages_is_none_and_half_a_one_an_error() -> None:
    assert reading(b"", read_head) == (None, b"")
    with pytest.raises(asyncio.IncompleteReadError):
        reading(b"GET / HT", read_head)


@pytest.mark.parametrize(
    ("headers", "data", "body"),
    [
        (["Content-Length: 3"], b"abcNEXT", b"abc"),
        ([], b"NEXT", b""),
        (["Transfer-Encoding: chunked"], b"2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\nNEXT", b"2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n"),
    ],
)
def test_request_body(headers: list[str], data: bytes, body: bytes) -> None:
    head = head_of(*headers, first="POST / HTTP/1.1")
    assert reading(data, lambda reader: request_body(reader, head)) == (body, data.removeprefix(body))


async def pieces(reader: asyncio.StreamReader, head: MessageHead, method: str) -> list[bytes]:
    return [piece async for piece in response_body(reader, head, method)]


@pytest.mark.parametrize(
    ("head", "method", "data", "expected"),
    [
        (head_of("Content-Length: 3"), "GET", b"abcNEXT", [b"abc"]),
        (head_of("Transfer-Encoding: chunked"), "GET", b"1\r\na\r\n0\r\n\r\nNEXT", [b"1\r\na\r\n", b"0\r\n\r\n"]),
        (head_of("Content-Length: 3"), "HEAD", b"NEXT", []),
        (head_of(first="HTTP/1.1 204 No Content"), "DELETE", b"NEXT", []),
    ],
)
def test_response_body(head: MessageHead, method: str, data: bytes, expected: list[bytes]) -> None:
    assert reading(data, lambda reader: pieces(reader, head, method)) == (expected, b"NEXT")


def test_a_response_that_is_cut_is_an_error() -> None:
    head = head_of("Transfer-Encoding: chunked")
    with pytest.raises(asyncio.IncompleteReadError):
        reading(b"5\r\nab", lambda reader: pieces(reader, head, "GET"))


def test_framed() -> None:
    assert framed(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
