import asyncio
import json
import socket
from typing import Any

import pytest
from aiohttp import web
from tests.unit.cluster.scripted_tokens import Tokens
from tests.unit.cluster.serving import serving

from stowplan.cluster.client import Client
from stowplan.cluster.connection import USER_AGENT, Connection
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import ApiError, ConnectionFailedError, UntrustedServerError
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.tls import Trust


class _Sleeps:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def _status(code: int, reason: str, **headers: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "reason": reason}, status=code, headers=headers)


def test_a_request_and_its_reply() -> None:
    seen: dict[str, Any] = {}

    async def handle(request: web.Request) -> web.Response:
        seen.update(request.headers, method=request.method, path=request.path_qs, body=await request.read())
        return web.Response(body=b"reply")

    async def main() -> bytes:
        async with serving(handle, StoredCredentials(token=CredentialSource("t", data=b"secret"))) as client:
            return await client.request("PUT", "/api/v1/x", b"{}", params={"fieldManager": "a b"})

    assert asyncio.run(main()) == b"reply"
    assert (seen["method"], seen["path"], seen["body"]) == ("PUT", "/api/v1/x?fieldManager=a+b", b"{}")
    assert seen["Content-Type"] == seen["Accept"] == "application/json"
    assert seen["Accept-Encoding"] == "identity"
    assert seen["Authorization"] == "Bearer secret"
    assert seen["User-Agent"] == USER_AGENT


def test_connections_are_kept() -> None:
    peers: set[Any] = set()

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return _status(404, "NotFound") if request.path == "/none" else web.Response(body=b"x" * 100_000)

    async def main() -> None:
        async with serving(handle) as client:
            for _ in range(3):
                await client.get("/some")
                with pytest.raises(ApiError):
                    await client.get("/none")

    asyncio.run(main())
    assert len(peers) == 1


def test_a_refusal() -> None:
    async def handle(request: web.Request) -> web.Response:
        return _status(409, "Conflict")

    async def main() -> None:
        async with serving(handle) as client:
            await client.get("/x")

    with pytest.raises(ApiError) as caught:
        asyncio.run(main())
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")


@pytest.mark.parametrize("status", [429, 503])
def test_asked_to_come_back_later_it_does(status: int) -> None:
    replies = iter([_status(status, "", **{"Retry-After": "3"}), _status(status, "", **{"Retry-After": "900"})])
    sleeps = _Sleeps()

    async def handle(request: web.Request) -> web.Response:
        return next(replies, web.Response(body=b"done"))

    async def main() -> bytes:
        async with serving(handle, sleep=sleeps) as client:
            return await client.get("/x")

    assert asyncio.run(main()) == b"done"
    assert sleeps.seconds == [3.0, 60.0]


@pytest.mark.parametrize(
    ("status", "headers", "tries"),
    [(429, {"Retry-After": "1"}, 11), (429, {}, 1), (500, {}, 1), (409, {"Retry-After": "1"}, 1)],
)
def test_patience_has_an_end(status: int, headers: dict[str, str], tries: int) -> None:
    count = 0

    async def handle(request: web.Request) -> web.Response:
        nonlocal count
        count += 1
        return _status(status, "", **headers)

    async def main() -> None:
        async with serving(handle, sleep=_Sleeps()) as client:
            await client.get("/x")

    with pytest.raises(ApiError):
        asyncio.run(main())
    assert count == tries


@pytest.mark.parametrize(("good", "tokens"), [("two", ["one", "two"]), ("three", ["one", "two"])])
def test_a_refused_login_is_renewed_once(good: str, tokens: list[str]) -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(body=b"in") if seen[-1] == f"Bearer {good}" else _status(401, "Unauthorized")

    async def main() -> bytes:
        async with serving(handle, Tokens(*tokens)) as client:
            return await client.get("/x")

    if good == "two":
        assert asyncio.run(main()) == b"in"
    else:
        with pytest.raises(ApiError, match="Unauthorized"):
            asyncio.run(main())
    assert seen == ["Bearer one", "Bearer two"]


def test_requests_keep_to_the_rate() -> None:
    sleeps = _Sleeps()

    async def handle(request: web.Request) -> web.Response:
        return web.Response()

    async def main() -> None:
        async with serving(handle, limiter=TokenBucket(10, 2, lambda: 0.0), sleep=sleeps) as client:
            for _ in range(4):
                await client.get("/x")
            async with client.open_watch("/x", {}, 1.0) as pieces:
                assert [piece async for piece in pieces] == []

    asyncio.run(main())
    assert sleeps.seconds == pytest.approx([0.1, 0.2])


# TLS
@pytest.mark.parametrize(
    ("tls_name", "options", "problem"),
    [
        ("127.0.0.1", {}, None),
        ("api.internal", {"server_name": "api.internal"}, None),
        ("api.internal", {"trust": Trust(insecure=True)}, None),
        ("api.internal", {}, "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        ("127.0.0.1", {"trust": Trust()}, "x509: certificate signed by unknown authority"),
    ],
)
def test_the_server_must_prove_who_it_is(tls_name: str, options: dict[str, Any], problem: str | None) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=b"hello")

    async def main() -> bytes:
        async with serving(handle, tls_name=tls_name, **options) as client:
            return await client.get("/x")

    if problem is None:
        assert asyncio.run(main()) == b"hello"
    else:
        with pytest.raises(UntrustedServerError, match=f"the server's certificate is not trusted: .*{problem}"):
            asyncio.run(main())


# Trouble on the way
def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        async def main() -> None:
            client = Client(Connection(url, StoredCredentials()))
            try:
                await client.get("/x")
            finally:
                await client.close()

        with pytest.raises(ConnectionFailedError) as caught:
            asyncio.run(main())
    assert str(caught.value).startswith(f"{url}: ")
    assert "refused" in str(caught.value)


def test_no_answer_in_time() -> None:
    async def handle(request: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    async def main() -> None:
        async with serving(handle) as client:
            await client.request("GET", "/x", timeout=0.05)

    with pytest.raises(ConnectionFailedError, match="no reply in time"):
        asyncio.run(main())


def test_a_redirect_is_not_followed() -> None:
    """The login must not travel to another server."""

    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://elsewhere.invalid/"})

    async def main() -> None:
        async with serving(handle, Tokens("one")) as client:
            await client.get("/x")

    with pytest.raises(ApiError, match="302"):
        asyncio.run(main())


# Watches
def _watch(*pieces: bytes, cut: bool = False) -> Any:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.02)
        if cut:
            assert request.transport is not None
            request.transport.abort()
        return response

    return handle


def test_a_watch_is_read_as_it_comes() -> None:
    async def main() -> list[bytes]:
        handle = _watch(b"one\n", b"two\nthr", b"x" * 300_000)
        async with serving(handle) as client, client.open_watch("/x", {"watch": "true"}, 5.0) as pieces:
            return [piece async for piece in pieces]

    pieces = asyncio.run(main())
    assert pieces[:2] == [b"one\n", b"two\nthr"]
    assert b"".join(pieces[2:]) == b"x" * 300_000


def test_a_watch_that_is_cut() -> None:
    async def main() -> None:
        async with serving(_watch(b"one\n", cut=True)) as client, client.open_watch("/x", {}, 5.0) as pieces:
            assert await anext(pieces) == b"one\n"
            await anext(pieces)

    with pytest.raises(ConnectionFailedError):
        asyncio.run(main())


def test_a_watch_that_falls_silent() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(5)
        return response

    async def main() -> None:
        async with serving(handle) as client, client.open_watch("/x", {}, 0.05) as pieces:
            await anext(pieces)

    with pytest.raises(ConnectionFailedError, match="no reply in time"):
        asyncio.run(main())


def test_a_refused_watch() -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=410, body=json.dumps({"code": 410, "reason": "Expired"}).encode())

    async def main() -> None:
        async with serving(handle) as client, client.open_watch("/x", {}, 1.0):
            raise AssertionError("it was not refused")

    with pytest.raises(ApiError, match="Expired"):
        asyncio.run(main())


def test_a_proxy_that_refuses_is_told_of_without_its_password() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def main() -> str:
        proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        client = Client(
            Connection("https://api.example.com", StoredCredentials(), proxy=f"http://me:sekret@127.0.0.1:{port}")
        )
        try:
            with pytest.raises(ConnectionFailedError) as failure:
                await client.get("/version")
            return str(failure.value)
        finally:
            await client.close()
            proxy.close()

    told = asyncio.run(main())
    assert told == "https://api.example.com: the proxy refuses: 407 Proxy Authentication Required"
