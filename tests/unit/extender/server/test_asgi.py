import asyncio
import json
from typing import Any

import pytest
from tests.unit.extender.server.examples import Tidy, request

from stowplan.extender.server.asgi import Application, make_application


def ask(
    app: Application, method: str, path: str, *parts: bytes, query: bytes = b"", **scope: Any
) -> tuple[int, dict[str, str], bytes]:
    received = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    received.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def run() -> None:
        async def receive() -> Any:
            return received.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        fixed = {"type": "http", "method": method, "path": path, "query_string": query, "client": ("10.0.0.1", 5)}
        await app(fixed | scope, receive, send)

    asyncio.run(run())
    start, body = sent
    return start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, body["body"]


@pytest.fixture
def app() -> Application:
    return make_application(Tidy, url_prefix="/tidy", largest_body=10_000)


def test_a_verb(app: Application) -> None:
    body = request(("n1", "yes"), ("n2", "no"))
    status, headers, reply = ask(app, "POST", "/tidy//filter/", body[:50], body[50:])
    assert (status, headers["content-length"]) == (200, str(len(reply)))
    assert json.loads(reply)["FailedNodes"] == {"n2": "untidy"}


def test_pages_and_refusals(app: Application) -> None:
    assert ask(app, "GET", "/healthz")[::2] == (200, b"ok")
    assert ask(app, "POST", "/nope", b"{}")[0] == 404
    assert ask(app, "GET", "/tidy/filter")[0] == 405
    assert ask(app, "POST", "/tidy/filter", b"x" * 6_000, b"x" * 6_000)[0] == 413
    assert b'refused_requests_total{cause="too_large"} 1\n' in ask(app, "GET", "/metrics")[2]
    ask(app, "POST", "/tidy/filter", request(("n1", "yes")))
    (entry,) = json.loads(ask(app, "GET", "/debug/decisions", query=b"uid=uid-web")[2])
    assert entry["verb"] == "filter"


@pytest.mark.parametrize(
    ("server", "headers", "status"),
    [
        (("127.0.0.1", 80), [], 200),
        (("127.0.0.1", 80), [(b"host", b"localhost:8888")], 200),
        (("127.0.0.1", 80), [(b"host", b"Extender.Internal")], 200),
        (("127.0.0.1", 80), [(b"Host", b"rebound.example.com")], 421),
        (("::1", 80), [(b"host", b"localhost"), (b"origin", b"https://example.com")], 421),
        (("10.0.0.1", 80), [(b"host", b"extender.example.com")], 200),
        (("/run/socket", None), [(b"host", b"extender.example.com")], 200),
        (None, [(b"host", b"extender.example.com")], 200),
    ],
)
@pytest.mark.parametrize("path", ["/filter", "/healthz"])
def test_foreign_hosts_and_origins_are_refused_on_loopback(
    path: str, server: Any, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    app = make_application(Tidy, allowed_hosts=["extender.internal"])
    method, body = ("GET", b"") if path == "/healthz" else ("POST", request(("n1", "yes")))
    assert ask(app, method, path, body, server=server, headers=headers)[0] == status
    refused = b'refused_requests_total{cause="foreign_host"} 1\n' in ask(app, "GET", "/metrics")[2]
    assert refused == (status == 421)


def test_a_sender_that_goes_away_is_counted_as_such(app: Application) -> None:
    async def run() -> None:
        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            pass

        await app({"type": "http", "method": "POST", "path": "/tidy/filter"}, receive, send)

    asyncio.run(run())
    told = ask(app, "GET", "/metrics")[2]
    assert b'abandoned_total{verb="filter"} 1\n' in told
    assert b'cause="too_large"' not in told


def test_its_life(app: Application) -> None:
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def run() -> None:
        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)

    asyncio.run(run())
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
