import pytest

from stowplan.extender.server.messages import BadRequestError, HeadReader, Response, head_of, text


def read(data: bytes) -> tuple[object, ...]:
    head = HeadReader(100).read(data)
    return head.method, head.path, head.query, head.keep_alive, head.length


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"POST /filter HTTP/1.1\r\nContent-Length: 5\r\n\r\n", ("POST", "/filter", "", True, 5)),
        (b"GET /a%20b?x=1&y HTTP/1.1\r\n\r\n", ("GET", "/a b", "x=1&y", True, 0)),
        (b"POST //f HTTP/1.0\r\nContent-Length: 1\r\n\r\n", ("POST", "//f", "", False, 1)),
        (b"POST /f HTTP/1.1\r\nConnection: close\r\n\r\n", ("POST", "/f", "", False, 0)),
        (b"POST /f HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", ("POST", "/f", "", True, -1)),
        (b"GET /f HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", ("GET", "/f", "", True, 0)),
        (b"POST http://h:8888/f HTTP/1.1\r\nContent-Length: 0\r\n\r\n", ("POST", "/f", "", True, 0)),
    ],
)
def test_heads(data: bytes, expected: tuple[object, ...]) -> None:
    assert read(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"POST /\xff HTTP/1.1\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
        b"POST /f HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /f HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /f HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /f HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    ],
)
def test_what_is_no_request(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        read(data)


def test_chunks() -> None:
    reader = HeadReader(5)
    reader.read(b"POST /f HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert reader.read_chunks(b"3\r\nab") is None
    assert reader.read_chunks(b"c\r\n0\r\n\r\n") == bytearray(b"abc")
    assert not reader.too_long


def test_fields_of_the_trailer_do_not_become_headers() -> None:
    reader = HeadReader(5)
    head = reader.read(b"POST /f HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert reader.read_chunks(b"1\r\na\r\n0\r\nHost: other\r\nX: y\r\n\r\n") == bytearray(b"a")
    assert head.headers == {"host": "localhost", "transfer-encoding": "chunked"}


def test_responses() -> None:
    assert head_of(Response(200, b"{}", headers={"X": "y"}), close=True) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX: y\r\nConnection: close\r\n\r\n"
    )
    assert head_of(Response(799, b""), close=False).startswith(b"HTTP/1.1 799 Unknown\r\n")
    assert text(404, "no").body == b"no\n"
