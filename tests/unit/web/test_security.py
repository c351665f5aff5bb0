"""Access to the page by plain HTTP: headers, Host, token, cookie, Origin, bodies, paths, and the limit of streams."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.builders.objects import node, pod
from tests.unit.web.pages import Browser, shown

from stowplan.web.access import CONTENT_SECURITY_POLICY, PageAccess, Visit
from stowplan.web.routes import API_PREFIX
from stowplan.web.server import MAX_BODY_BYTES
from stowplan.web.stream import MAX_STREAMS

NODE = {"apiVersion": "v1", "kind": "Node", **node("a")}
POD = {"apiVersion": "v1", "kind": "Pod", **pod("web")}
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
JSON = {"Content_Type": "application/json", "Sec_Fetch_Site": "same-origin"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with shown(tmp_path_factory.mktemp("page"), NODE, POD) as browser:
        yield browser


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/v1/hello", "/api/v1/nothing", "/login?token=wrong"])
@pytest.mark.parametrize("login", [True, False])
def test_every_response_has_the_security_headers(browser: Browser, path: str, login: bool) -> None:
    reply = browser.send("GET", path, login=login)
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = dict(each.split(" ", 1) for each in CONTENT_SECURITY_POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["img-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert (
        policy["trusted-types"] == policy["frame-ancestors"] == policy["form-action"] == policy["base-uri"] == "'none'"
    )


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "evil.example", "127.0.0.1", "127.0.0.1:1", "10.0.0.1:{port}", "", "[::1", "a:b:c"]
)
def test_a_foreign_host_is_misdirected(browser: Browser, host: str) -> None:
    reply = browser.get("/api/v1/hello", Host=host.format(port=browser.port))
    assert reply.status in (400, 421)  # aiohttp itself refuses some.
    assert b"epoch" not in reply.body


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST.:{port}", "[::1]:{port}"])
def test_loopback_names_with_the_port_are_served(browser: Browser, host: str) -> None:
    assert browser.get("/api/v1/hello", Host=host.format(port=browser.port)).status == 200


def test_further_hosts_are_served_if_they_are_allowed() -> None:
    access = PageAccess("127.0.0.1", 8000, allowed_hosts=("page.example", "other.example:444"), token="t")

    def status(host: str) -> int:
        page = access.answer(Visit("GET", "/api/v1/map", "", {"Host": host, "Authorization": "Bearer t"}))
        return 200 if page is None else page.status

    assert [status(host) for host in ("page.example", "page.example:99", "other.example:444")] == [200, 200, 200]
    assert [status(host) for host in ("other.example", "x.page.example", "page.example.evil:99")] == [421, 421, 421]


def test_nothing_is_served_without_the_token(browser: Browser) -> None:
    for path in ("/", "/static/app.js", "/api/v1/map", "/api/v1/events", "/api/v1/explain/default/web"):
        for headers in ({}, {"Cookie": f"stowplan-{browser.port}=wrong"}, {"Authorization": "Bearer wrong"}):
            reply = browser.send("GET", path, login=False, **headers)
            assert reply.status == 401
            assert b"epoch" not in reply.body
    assert (
        browser.send("GET", "/api/v1/hello", login=False, Authorization=f"Bearer {browser.access.token}").status == 200
    )


def test_the_token_is_traded_for_a_cookie_that_scripts_and_other_sites_do_not_get(browser: Browser) -> None:
    reply = browser.send("GET", f"/login?token={browser.access.token}", login=False)
    assert reply.status == 200
    assert b'http-equiv="refresh" content="0; url=/"' in reply.body
    cookie = reply.headers["Set-Cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/", f"stowplan-{browser.port}="))
    assert browser.access.token not in cookie
    for wrong in ("", "?token=", "?token=x", f"?token={browser.access.token}x", "?token=%ff"):
        refused = browser.send("GET", f"/login{wrong}", login=False)
        assert refused.status == 401
        assert "Set-Cookie" not in refused.headers


def test_an_address_for_one_login_works_once(browser: Browser) -> None:
    path = browser.access.url_for_one_login().partition(str(browser.port))[2]
    first, second = (browser.send("GET", path, login=False) for _ in range(2))
    assert (first.status, second.status) == (200, 401)
    assert browser.access.token not in path
    assert browser.get("/api/v1/hello", Cookie=first.headers["Set-Cookie"].partition(";")[0]).status == 200


def test_a_token_with_any_characters_is_part_of_the_address() -> None:
    access = PageAccess("127.0.0.1", 8000, token="a+b&c=d#e%20f/?é")
    path, _, query = access.url.partition("8000")[2].partition("?")
    page = access.answer(Visit("GET", path, query, {"Host": "127.0.0.1:8000"}))
    assert page is not None
    assert page.status == 200


def test_an_unexpected_exception_is_one_line_of_the_log(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("secret of the cluster")

    monkeypatch.setattr(browser.source, "hello", broken)
    reply = browser.get("/api/v1/hello")
    assert reply.status == 500
    assert reply.json["message"] == "an unexpected error occurred; the server's log has the details"
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS
    assert b"secret" not in reply.body
    lines = [record.getMessage() for record in caplog.records if "secret of the cluster" in record.getMessage()]
    assert len(lines) == 1
    assert "/api/v1/hello" in lines[0]


def test_cookies_of_other_programs_do_not_matter(browser: Browser) -> None:
    for others in (
        "a=1; {}",
        '{}; bad="x\\',
        'json={{"a": [1, 2]}}; =; ;{}',
        "username-localhost-8888=2|1:0|10; {}; é=ü",
    ):
        cookie = others.format(browser.cookie).encode().decode("latin-1")
        assert browser.get("/api/v1/hello", Cookie=cookie).status == 200
    assert browser.get("/api/v1/hello", Cookie=f"x{browser.cookie}").status == 401
    assert browser.get("/api/v1/hello", Cookie=f"stowplan-{browser.port}=\xff\xfe").status == 401
    assert browser.send("GET", "/api/v1/hello", login=False, Authorization="Bearer \xff").status == 401


def test_each_server_has_its_own_token() -> None:
    assert PageAccess("127.0.0.1", 1).token != PageAccess("127.0.0.1", 1).token
    assert len(PageAccess("127.0.0.1", 1).token) >= 32


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Type": "text/plain", "Sec_Fetch_Site": "same-origin"}, 415),
        ({"Sec_Fetch_Site": "same-origin"}, 415),
        ({"Content_Type": "application/json"}, 403),
        ({"Content_Type": "application/json", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Content_Type": "application/json", "Origin": "http://evil.example"}, 403),
        ({"Content_Type": "application/json", "Origin": "null"}, 403),
        ({**JSON, "login": False}, 401),
    ],
)
def test_a_change_has_to_come_from_the_page_itself(browser: Browser, headers: dict[str, str], status: int) -> None:
    assert browser.send("POST", "/api/v1/what-if", b"{}", **headers).status == status  # type: ignore[arg-type]


def test_a_change_with_everything_reaches_the_handlers(browser: Browser) -> None:
    origin = {"Content_Type": "application/json", "Origin": f"http://127.0.0.1:{browser.port}"}
    for headers in (JSON, origin):
        assert browser.send("POST", "/api/v1/hello", b"{}", **headers).status == 405


def test_pages_of_other_sites_get_no_data_even_with_the_cookie(browser: Browser) -> None:
    for site in ("cross-site", "same-site"):
        assert browser.get("/api/v1/map", Sec_Fetch_Site=site).status == 403
    assert browser.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../wire.py",
        "/static/%2e%2e/wire.py",
        "/static/..%2fwire.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..\\wire.py",
        "/static/vendor/../../wire.py",
        "/../pyproject.toml",
        "/static/",
        "/static",
        "/static/app.js%00.html",
    ],
)
def test_paths_lead_to_static_files_only(browser: Browser, path: str) -> None:
    reply = browser.get(path)
    assert reply.status in (400, 404)
    assert b"msgspec" not in reply.body
    assert b"root:" not in reply.body


def test_bodies_are_limited(browser: Browser) -> None:
    assert browser.send("POST", "/api/v1/hello", b"x" * (MAX_BODY_BYTES - 1), **JSON).status == 405
    assert browser.send("POST", "/api/v1/hello", b"x" * (MAX_BODY_BYTES + 1), **JSON).status == 413


@pytest.mark.parametrize(
    "path", ["map", "explain/a", "explain//web", "fit/a/b/c", "pending/x?from=y", "history?since=-1"]
)
def test_bad_paths_get_one_sentence(browser: Browser, path: str) -> None:
    reply = browser.get(API_PREFIX + path)
    assert reply.status == (200 if path == "map" else 400)


def test_the_number_of_streams_is_limited(browser: Browser) -> None:
    with ExitStack() as stack:
        streams = [
            stack.enter_context(socket.create_connection(("127.0.0.1", browser.port))) for _ in range(MAX_STREAMS)
        ]
        request = (
            f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
            f"Authorization: Bearer {browser.access.token}\r\n\r\n"
        )
        for stream in streams:
            stream.sendall(request.encode())
            stream.settimeout(10)
            assert stream.recv(12) == b"HTTP/1.1 200"
        refused = browser.get("/api/v1/events")
        assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.create_connection(("127.0.0.1", browser.port)) as stream:
            stream.sendall(request.encode())
            if stream.recv(12) == b"HTTP/1.1 200":
                break
        time.sleep(0.1)
    else:
        pytest.fail("streams that have ended still count")
