from __future__ import annotations

import logging
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from stowplan.config.conversion import InsecureAddress, InsecureServing
from stowplan.errors import ConfigError
from stowplan.observe.health import HealthCheck, HealthMetrics, HealthPage
from stowplan.observe.registry import MetricRegistry
from stowplan.serving import ComponentPages, InsecureServer, Pages, Sources, listen_insecurely


def free() -> InsecureAddress:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return InsecureAddress("127.0.0.1", listener.getsockname()[1])


def pages(problem: str | None = None) -> Pages:
    health = HealthMetrics()
    page = HealthPage("healthz", [HealthCheck("it", lambda: problem)], health.on_check)
    return ComponentPages(Sources(MetricRegistry(), health, (page,), {}, {}))


def visit(address: InsecureAddress, path: str, method: str = "GET") -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://{address}{path}", method=method)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


@pytest.fixture
def servers() -> Iterator[list[InsecureServer]]:
    started: list[InsecureServer] = []
    yield started
    for server in started:
        server.stop()


def start(servers: list[InsecureServer], wanted: InsecureServing, problem: str | None = None) -> InsecureServer:
    server = InsecureServer(listen_insecurely(wanted, pages(problem)))
    servers.append(server)
    server.start()
    return server


def test_both_at_one_address(servers: list[InsecureServer]) -> None:
    address = free()
    start(servers, InsecureServing(address, address))
    found = [visit(address, path) for path in ("/healthz", "/metrics", "/configz", "/healthz/it", "/")]
    assert found == [200, 200, 404, 404, 404]
    assert (visit(address, "/metrics", "DELETE"), visit(address, "/healthz", "HEAD")) == (405, 200)


def test_each_at_its_own(servers: list[InsecureServer]) -> None:
    health, metrics = free(), free()
    start(servers, InsecureServing(health, metrics))
    assert (visit(health, "/healthz"), visit(health, "/metrics")) == (200, 404)
    assert (visit(metrics, "/healthz"), visit(metrics, "/metrics")) == (404, 200)


def test_ill_health_is_told(servers: list[InsecureServer]) -> None:
    address = free()
    start(servers, InsecureServing(healthz=address), "oh")
    assert visit(address, "/healthz") == 500


def test_nothing_is_served_where_nothing_is_wanted() -> None:
    assert listen_insecurely(InsecureServing(), pages()) == {}


def test_a_port_in_use_matters_only_if_somebody_asked_for_it(
    servers: list[InsecureServer], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = InsecureAddress("127.0.0.1", listener.getsockname()[1])
        with pytest.raises(ConfigError, match=f"failed to listen on {address}: address already in use"):
            start(servers, InsecureServing(address, address, explicit=True))
        with caplog.at_level(logging.WARNING):
            start(servers, InsecureServing(address, address))
    assert "not served over plain HTTP" in capsys.readouterr().err + caplog.text


def test_after_stop_the_port_is_free() -> None:
    address = free()
    server = InsecureServer(listen_insecurely(InsecureServing(address), pages()))
    server.start()
    assert visit(address, "/healthz") == 200
    server.stop()
    with pytest.raises(urllib.error.URLError):
        visit(address, "/healthz")
