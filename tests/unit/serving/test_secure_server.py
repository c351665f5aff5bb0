"""A real server on a loopback port, asked over real TLS."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import trustme
from tests.unit.serving.fakes import RIGHTS, TOKENS, FakeClient, review_rights, review_tokens
from tests.unit.serving.test_component_pages import sources

from stowplan.cluster.errors import ApiError
from stowplan.config.options import AccessOptions, ServingOptions
from stowplan.errors import ConfigError
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.serving import Clients, ComponentPages, SecureServer, Sources

AUTHORITIES = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


def cluster() -> FakeClient:
    return FakeClient(
        {
            TOKENS: review_tokens({"t": "bob"}),
            RIGHTS: review_rights({"bob": {"get /metrics", "put /debug/flags/v"}, "ada": {"get /configz"}}),
            AUTHORITIES: lambda body: {"data": {}},
        }
    )


def make(
    access: AccessOptions | None = None, content: Sources | None = None, client: FakeClient | None = None
) -> SecureServer:
    served = content or sources()
    serving = ServingOptions(address="127.0.0.1", port=0)
    return SecureServer(
        serving,
        access or AccessOptions(),
        ComponentPages(served),
        AccessMetrics(served.metrics),
        lambda: Clients(client, client),
    )


@contextmanager
def running(server: SecureServer) -> Iterator[SecureServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


def ask(
    server: SecureServer,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    prepare: Callable[[ssl.SSLContext], None] = lambda context: None,
    **headers: str,
) -> tuple[int, str, http.client.HTTPMessage]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    prepare(context)
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
    with closing(connection):
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers


def test_health_is_open_and_metrics_are_not() -> None:
    with running(make(client=cluster())) as server:
        assert ask(server, "/healthz")[:2] == (200, "ok")
        assert ask(server, "/healthz?verbose")[1] == "[+]ping ok\nhealthz check passed\n"
        assert ask(server, "/metrics")[0] == 403
        assert ask(server, "/metrics", Authorization="Bearer bad")[0] == 401
        status, text, headers = ask(server, "/metrics", Authorization="Bearer t")
        assert (status, "x_total 3\n" in text) == (200, True)
        assert headers["Cache-Control"] == "no-cache, private"


def test_what_is_not_there_is_not_told_to_strangers() -> None:
    with running(make(client=cluster())) as server:
        assert ask(server, "/nowhere")[0] == 403


def test_clients_are_closed_at_the_end() -> None:
    client = cluster()
    with running(make(client=client)):
        pass
    assert client.closed


def test_plain_http_gets_no_answer() -> None:
    with running(make()) as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"ok" not in connection.recv(1000)


def test_bodies_are_limited() -> None:
    with running(make(client=cluster())) as server:
        path, header = "/debug/flags/v", {"Authorization": "Bearer t"}
        assert ask(server, path, "PUT", b"0", **header)[0] == 200
        assert ask(server, path, "PUT", b"0" * 100_000, **header)[0] == 413


def test_client_certificates(tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    ada = authority.issue_cert(common_name="ada")
    mallory = stranger.issue_cert(common_name="ada")
    access = AccessOptions(client_ca_file=str(tmp_path / "ca.crt"))
    with running(make(access, client=cluster())) as server:
        assert ask(server, "/configz", prepare=ada.configure_cert)[0] == 200
        assert ask(server, "/configz")[0] == 403
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(server, "/configz", prepare=mallory.configure_cert)


def test_authorities_come_from_the_cluster() -> None:
    authority = trustme.CA()
    client = cluster()
    client.answers[AUTHORITIES] = lambda body: {"data": {"client-ca-file": authority.cert_pem.bytes().decode()}}
    with running(make(client=client)) as server:
        assert ask(server, "/configz", prepare=authority.issue_cert(common_name="ada").configure_cert)[0] == 200


@pytest.mark.parametrize("tolerate", [True, False])
def test_authorities_that_cannot_be_looked_up(tolerate: bool) -> None:
    client = cluster()
    client.answers[AUTHORITIES] = lambda body: ApiError(403, "Forbidden", "not for you")
    server = make(AccessOptions(tolerate_lookup_failure=tolerate), client=client)
    if tolerate:
        with running(server):
            assert ask(server, "/healthz")[0] == 200
        return
    with pytest.raises(ConfigError, match=r"unable to load configmap based client CA file: .*not for you"):
        server.start()


class SilentClient(FakeClient):
    """Of a server that takes requests and never answers."""

    async def request(self, method: str, path: str, body: bytes | None = None, *, timeout: float = 60.0) -> bytes:
        await asyncio.sleep(60)
        return b""


@pytest.mark.parametrize("tolerate", [True, False])
def test_authorities_are_not_waited_for_without_end(tolerate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.serving.secure_server._FIRST_LOOKUP_SECONDS", 0.05)
    monkeypatch.setattr("stowplan.serving.secure_server._LOOKUP_SECONDS", 0.05)
    server = make(AccessOptions(tolerate_lookup_failure=tolerate), client=SilentClient())
    if tolerate:
        with running(server):
            assert ask(server, "/healthz")[0] == 200
        return
    with pytest.raises(ConfigError, match="unable to load configmap based client CA file: no answer in time"):
        server.start()


def test_a_port_in_use_is_an_error_at_once() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        serving = ServingOptions(address="127.0.0.1", port=taken.getsockname()[1])
        content = sources()
        server = SecureServer(serving, AccessOptions(), ComponentPages(content), AccessMetrics(content.metrics))
        with pytest.raises(ConfigError, match="address already in use"):
            server.start()


def test_stopping_twice_or_before_the_start_does_no_harm() -> None:
    server = make()
    server.stop()
    server.start()
    server.stop()
    server.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "secure"]


def test_slow_metrics_do_not_hold_up_health() -> None:
    release, content = threading.Event(), sources()

    def slow() -> bytes:
        release.wait(60)
        return b"late\n"

    content.resources = slow
    client = cluster()
    client.answers[RIGHTS] = lambda body: {"status": {"allowed": True}}
    with running(make(content=content, client=client)) as server:
        replies: list[str] = []
        visitor = threading.Thread(target=lambda: replies.append(ask(server, "/metrics/resources")[1]))
        visitor.start()
        assert ask(server, "/healthz")[:2] == (200, "ok")
        assert not replies
        release.set()
        visitor.join(60)
        assert replies == ["late\n"]


def test_configuration_is_json() -> None:
    client = cluster()
    client.answers[RIGHTS] = lambda body: {"status": {"allowed": True}}
    with running(make(client=client)) as server:
        status, text, headers = ask(server, "/configz")
    assert status == 200
    assert json.loads(text)["componentconfig"]["kind"] == "KubeSchedulerConfiguration"
    assert headers["Content-Type"] == "application/json"
