"""Sources of load metrics and their collection: replies, faults, stale and missing values."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.optional_plugins.test_registry import configuration

from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.config.args.trimaran import MetricProviderSpec, TrimaranArgs
from stowplan.config.dump import to_builtins
from stowplan.optional_plugins.trimaran import sources
from stowplan.optional_plugins.trimaran.collector import LoadCollector
from stowplan.optional_plugins.trimaran.load import LoadError, NodeLoad, Usage, decode_watcher_metrics
from stowplan.optional_plugins.trimaran.sources import Fetch, LoadSource, get

CAPACITIES = {"n": (4000, 8 << 30)}


def source(args: TrimaranArgs, fetch: Callable[[Fetch], bytes], connection: Any = None) -> LoadSource:
    return LoadSource(args.completed(), connection, lambda: CAPACITIES, fetch, lambda: 1000.0)


def watcher_json(nodes: dict[str, list[Any]], end: float = 500) -> bytes:
    metrics = {name: {"metrics": values} for name, values in nodes.items()}
    return json.dumps({"window": {"end": end}, "data": {"NodeMetricsMap": metrics}}).encode()


CPU_50 = {"type": "CPU", "operator": "AVG", "value": 50}
WATCHER = TrimaranArgs(watcher_address="http://watcher:2020/")


def test_load_watcher() -> None:
    requests: list[Fetch] = []

    def fetch(request: Fetch) -> bytes:
        requests.append(request)
        return watcher_json({"n": [CPU_50, {"type": "CPU", "operator": "STD", "value": 5}], "m": []})

    snapshot = source(WATCHER, fetch).read()
    assert snapshot.nodes == {"n": NodeLoad(50, Usage(50, 5), None), "m": NodeLoad(None, None, None)}
    assert snapshot.window_end == 500
    assert [request.url for request in requests] == ["http://watcher:2020/watcher"]


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"data": {"NodeMetricsMap": {"n": {"metrics": 3}}}}', b"\xff"]
)
def test_other_replies_are_one_error(body: bytes) -> None:
    with pytest.raises(LoadError, match=r"^not load-watcher's JSON: [^\n]+$"):
        decode_watcher_metrics(body)


def test_absent_parts_are_no_metrics() -> None:
    assert decode_watcher_metrics(b'{"data": {"NodeMetricsMap": null}}').nodes == {}
    assert decode_watcher_metrics(b'{"data": {"NodeMetricsMap": {"n": {"metrics": null}}}}').nodes["n"].cpu is None


def test_prometheus() -> None:
    requests: list[Fetch] = []

    def fetch(request: Fetch) -> bytes:
        requests.append(request)
        share = "0.25" if "avg" in request.url else "0.05"
        result = [{"metric": {"instance": name}, "value": [1, share]} for name in ("n", "m:9100")]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()

    provider = MetricProviderSpec(type="Prometheus", address="http://prometheus:9090", token="secret")
    snapshot = source(TrimaranArgs(metric_provider=provider), fetch).read()
    assert snapshot.nodes == dict.fromkeys(("n", "m"), NodeLoad(25, Usage(25, 5), Usage(25, 5)))
    assert snapshot.window_end == 1000
    assert requests[0].url == (
        "http://prometheus:9090/api/v1/query?query=avg_over_time%28instance%3Anode_cpu%3Aratio%5B15m%5D%29"
    )
    assert len(requests) == 4
    assert requests[0].headers == {"Authorization": "Bearer secret"}


def test_metrics_server() -> None:
    def fetch(request: Fetch) -> bytes:
        assert request.url == "https://api:6443/apis/metrics.k8s.io/v1beta1/nodes"
        usage = {"cpu": "1000000000n", "memory": "2097152Ki"}
        return json.dumps({"items": [{"metadata": {"name": name}, "usage": usage} for name in ("n", "gone")]}).encode()

    connection = SimpleNamespace(url="https://api:6443", renew=lambda: SimpleNamespace(headers={}, tls=None))
    snapshot = source(TrimaranArgs(), fetch, connection).read()
    assert snapshot.nodes == {"n": NodeLoad(25, Usage(25, 0), Usage(25, 0))}


def test_the_metrics_server_needs_a_cluster() -> None:
    with pytest.raises(LoadError, match="the metrics server is read in a cluster only"):
        source(TrimaranArgs(), lambda request: b"").read()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response({"/good": 200, "/slow": 200, "/moved": 302}.get(self.path, 503))
            if self.path == "/moved":
                self.send_header("Location", "/good")
            self.end_headers()
            self.wfile.write(b"body")
            with suppress(OSError):
                while self.path == "/slow":
                    self.wfile.write(b"x")
                    time.sleep(0.01)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


def test_a_slow_reply_is_given_up(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "REPLY_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(LoadError, match=r"^the reply takes longer than 0\.1 s$"):
        get(Fetch(f"{server}/slow", {}, None))


def test_a_large_reply_and_a_large_file_are_not_read(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_BODY_BYTES", 3)
    with pytest.raises(LoadError, match=r"^the reply is larger than 0 MiB$"):
        get(Fetch(f"{server}/good", {}, None))
    file = tmp_path / "metrics.json"
    file.write_bytes(b"body")
    args = TrimaranArgs(metric_provider=MetricProviderSpec(type="File", address=str(file)))
    with pytest.raises(LoadError, match=r"^the file is larger than 0 MiB$"):
        source(args, lambda request: b"").read()


def test_requests(server: str) -> None:
    assert get(Fetch(f"{server}/good", {}, None)) == b"body"
    with pytest.raises(LoadError, match=r"^503 Service Unavailable$"):
        get(Fetch(f"{server}/bad", {}, None))
    with pytest.raises(LoadError, match=r"^302 Found$"):
        get(Fetch(f"{server}/moved", {}, None))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(LoadError, match=r"^Connection refused$"):
            get(Fetch(f"http://127.0.0.1:{port}/", {}, None))


class Endpoint:
    """A source whose reply is set by the test."""

    def __init__(self) -> None:
        self.reply: bytes | Exception = watcher_json({"n": [CPU_50]}, end=0)
        self.now = 1000.0
        self.reads = 0

    def fetch(self, request: Fetch) -> bytes:
        self.reads += 1
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def collector(self, *, live: bool = True, max_age: float = 300) -> LoadCollector:
        return LoadCollector(source(WATCHER, self.fetch), live=live, max_age_seconds=max_age, knows=["n"].__contains__)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO)

    def taken() -> list[str]:
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return taken


def test_simulations_read_once() -> None:
    endpoint = Endpoint()
    collector = endpoint.collector(live=False)
    assert endpoint.reads == 0
    endpoint.now = 10.0
    first = collector.latest(lambda: endpoint.now)
    endpoint.now = 1e9
    assert collector.latest(lambda: endpoint.now) is first is not None
    assert endpoint.reads == 1


def test_a_thread_reads_where_a_scheduler_runs() -> None:
    endpoint = Endpoint()
    collector = endpoint.collector()
    collector.latest(lambda: endpoint.now)
    try:
        deadline = time.monotonic() + 10
        while collector.latest(lambda: endpoint.now) is None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert collector.latest(lambda: endpoint.now) is not None
    finally:
        collector.close()


def reading(endpoint: Endpoint, **settings: Any) -> LoadCollector:
    """A live collector whose reads the test makes."""
    collector = endpoint.collector(**settings)
    collector._started, collector._clock = True, lambda: endpoint.now
    return collector


def test_faults_are_one_line_each_and_keep_the_former_metrics(lines: Callable[[], list[str]]) -> None:
    endpoint = Endpoint()
    collector = reading(endpoint)
    collector.read()
    kept = collector.latest(lambda: endpoint.now)
    assert kept is not None
    assert lines() == []
    for fault in (LoadError("Connection refused"), b"<html>", LoadError("503 Service Unavailable")):
        endpoint.reply = fault
        collector.read()
        collector.read()
        assert len(lines()) == 1
        assert collector.latest(lambda: endpoint.now) is kept
    endpoint.reply = watcher_json({"n": [CPU_50]}, 1000)
    collector.read()
    collector.read()
    (line,) = lines()
    assert "Load metrics are available" in line


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            watcher_json({"10.0.0.1": [CPU_50]}, 1000),
            "no metrics are of a node of the cluster: the first are of '10.0.0.1'",
        ),
        (watcher_json({"n": [{"type": "CPU", "operator": "AVG", "value": -5}]}, 1000), "not percentages are ignored"),
        (
            watcher_json({"n": [{**CPU_50, "value": 1e300}]}, 1000),
            "not percentages are ignored: n CPU AVG 1e+300, 1 in",
        ),
        (watcher_json({}, 1000), "the source has no metrics of nodes"),
        (watcher_json({"n": [CPU_50]}, 699), "the metrics are too old to be used"),
    ],
)
def test_doubtful_metrics_are_one_line(reply: bytes, text: str, lines: Callable[[], list[str]]) -> None:
    endpoint = Endpoint()
    endpoint.reply = reply
    collector = reading(endpoint)
    collector.read()
    collector.read()
    (line,) = lines()
    assert text in line


REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LYING = {
    "nothing": (b"", "Remote end closed connection without response"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", r"not HTTP: 'SSH-2.0-OpenSSH_9.6\r\n'"),
    "a long line": (b"x" * 60000 + b"\n", "not HTTP: 'xxx"),
    "a long reason": (b"HTTP/1.1 500 " + b"x" * 60000 + b"\r\n\r\n", "500 xxx"),
    "an empty body": (REPLY + b"\r\n", "not load-watcher's JSON: Input data was truncated"),
    "a page": (REPLY + b"\r\n<!DOCTYPE html><html>Sign in</html>", "not load-watcher's JSON: "),
    "half a body": (REPLY + b"Content-Length: 99\r\n\r\n{", "not load-watcher's JSON: "),
    "NaN": (REPLY + b'\r\n{"data": {"NodeMetricsMap": {"n": {"metrics": [{"value": NaN}]}}}}', "not load-watcher's"),
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "302 Found"),
    "a redirect without an address": (b"HTTP/1.1 307 Temporary Redirect\r\n\r\n", "307 Temporary Redirect"),
    "many headers": (REPLY + b"X-A: b\r\n" * 200 + b"\r\n", "got more than 100 headers"),
}
ENDLESS = {
    "an endless body": (REPLY + b"\r\n", b"[" * 60000, "the reply is larger than 1 MiB"),
    "a body that drips": (REPLY + b"\r\n", b"[", "the reply takes longer than 0.3 s"),
    "a header that drips": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", "the reply takes longer than 0.3 s"),
    "silence": (b"", b"", "timed out"),
}


@pytest.fixture
def answering() -> Iterator[Callable[[bytes, bytes | None], str]]:
    """Starts servers that send the first bytes, then the second ones again and again."""
    ended = threading.Event()
    listening: list[socket.socket] = []

    def start(first: bytes, again: bytes | None) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        listening.append(server)

        def serve() -> None:
            with suppress(OSError), server.accept()[0] as peer:
                peer.recv(1 << 16)
                peer.sendall(first)
                while again is not None and not ended.wait(0 if len(again) > 1 else 0.02):
                    peer.sendall(again)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    yield start
    ended.set()
    for server in listening:
        server.close()


@pytest.mark.parametrize("what", [*LYING, *ENDLESS])
def test_an_endpoint_that_lies_is_one_line(
    what: str,
    answering: Callable[[bytes, bytes | None], str],
    lines: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "REPLY_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(sources, "FETCH_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(sources, "MAX_BODY_BYTES", 1 << 20)
    first, again, text = (*ENDLESS[what],) if what in ENDLESS else (LYING[what][0], None, LYING[what][1])
    args = TrimaranArgs(watcher_address=answering(first, again)).completed()
    load = LoadSource(args, None, lambda: CAPACITIES)
    collector = LoadCollector(load, live=False, max_age_seconds=0, knows=["n"].__contains__)
    assert collector.latest(lambda: 1000.0) is None
    assert collector.latest(lambda: 1000.0) is None
    (line,) = lines()
    assert line.startswith("Load metrics have a problem: ")
    assert text in line
    assert "\n" not in line
    assert len(line) < 250


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "-0.5", "1e300"])
def test_values_of_prometheus_that_are_not_percentages(value: str) -> None:
    def fetch(request: Fetch) -> bytes:
        shown = "0.25" if "memory" in request.url else value
        result = [{"metric": {"instance": "n"}, "value": [1, shown]}]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()

    provider = MetricProviderSpec(type="Prometheus", address="http://prometheus:9090")
    snapshot = source(TrimaranArgs(metric_provider=provider), fetch).read()
    assert snapshot.nodes == {"n": NodeLoad(None, None, Usage(25, 25))}
    assert snapshot.rejected.startswith("n CPU AVG ")
    assert snapshot.rejected.endswith(", 2 in all")
    assert len(snapshot.rejected) < 40


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'{"status": "error", "errorType": "bad_data", "error": "parse error"}',
        b'{"data": {"result": [{"metric": {"instance": "n"}, "value": [1, "much"]}]}}',
        b'{"data": {"result": [{"metric": {"instance": "n"}, "value": [1]}]}}',
        b'{"data": {"result": 5}}',
    ],
)
def test_other_replies_of_prometheus_are_one_error(body: bytes) -> None:
    provider = MetricProviderSpec(type="Prometheus", address="http://prometheus:9090")
    with pytest.raises(LoadError, match=r"^not Prometheus' JSON: [^\n]+$"):
        source(TrimaranArgs(metric_provider=provider), lambda request: body).read()


@pytest.mark.parametrize("usage", [{"cpu": "lots"}, {"cpu": None}, {"memory": "1..2"}])
def test_other_replies_of_the_metrics_server_are_one_error(usage: Any) -> None:
    body = json.dumps({"items": [{"metadata": {"name": "n"}, "usage": usage}]}).encode()
    connection = SimpleNamespace(url="https://api:6443", renew=lambda: SimpleNamespace(headers={}, tls=None))
    with pytest.raises(LoadError, match=r"^not NodeMetrics: [^\n]+$"):
        source(TrimaranArgs(), lambda request: body, connection).read()


@pytest.mark.parametrize("usage", [{"cpu": "-1"}, {"cpu": "1e300"}])
def test_usage_of_the_metrics_server_that_cannot_be_is_ignored(usage: Any) -> None:
    body = json.dumps({"items": [{"metadata": {"name": "n"}, "usage": {"memory": "2Gi", **usage}}]}).encode()
    connection = SimpleNamespace(url="https://api:6443", renew=lambda: SimpleNamespace(headers={}, tls=None))
    snapshot = source(TrimaranArgs(), lambda request: body, connection).read()
    assert snapshot.nodes == {"n": NodeLoad(None, None, Usage(25, 0))}


@pytest.mark.parametrize(
    ("end", "age", "max_age", "usable"),
    [
        (0, 300, 300, True),  # Without a time of their own, metrics are as old as their read.
        (0, 301, 300, False),
        (900, 200, 300, True),
        (900, 201, 300, False),
        (5000, 300, 300, True),  # A time in the future does not prolong their life.
        (5000, 301, 300, False),
        (900, 1e9, 0, True),
    ],
)
def test_stale_metrics_do_not_count(end: float, age: float, max_age: float, usable: bool) -> None:
    endpoint = Endpoint()
    endpoint.reply = watcher_json({"n": [CPU_50]}, end)
    collector = reading(endpoint, max_age=max_age)
    collector.read()
    endpoint.now += age
    assert (collector.latest(lambda: endpoint.now) is not None) == usable


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            {"metricProvider": {"type": "Ganglia"}},
            'metricProvider.type: Invalid value: "Ganglia": invalid MetricProvider.Type, got Ganglia',
        ),
        (
            {"metricProvider": {"type": "Prometheus", "address": "prometheus:9090"}},
            'metricProvider.address: Invalid value: "prometheus:9090": must be a URL with scheme http or https',
        ),
        ({"metricProvider": {"type": "File"}}, "metricProvider.address: Required value: the path of a file"),
        (
            {"watcherAddress": "file:///etc"},
            'watcherAddress: Invalid value: "file:///etc": must be a URL with scheme http or https',
        ),
        ({"maxMetricsAgeSeconds": -1}, "maxMetricsAgeSeconds: Invalid value: -1: must not be negative"),
        ({"targetUtilization": 101}, "targetUtilization: Invalid value: 101: must be at most 100"),
        ({"defaultRequestsMultiplier": "much"}, 'defaultRequestsMultiplier: Invalid value: "much": must be a number'),
        ({"watcherAdress": "http://x"}, 'watcherAdress: unknown field (did you mean "watcherAddress"?)'),
    ],
)
def test_args_are_validated(args: dict[str, Any], error: str) -> None:
    enabled = {"score": {"enabled": [{"name": "TargetLoadPacking"}]}}
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(configuration(enabled, {"name": "TargetLoadPacking", "args": args}))
    (found,) = caught.value.errors
    assert f"{found.path.partition('.args.')[2]}: {found.message}" == error


def test_defaults() -> None:
    assert TrimaranArgs(metric_provider=MetricProviderSpec(type="Prometheus")).completed().metric_provider == (
        MetricProviderSpec(type="Prometheus", insecure_skip_verify=True)
    )
    assert TrimaranArgs().completed().metric_provider.insecure_skip_verify is False


def test_credentials_are_not_on_pages() -> None:
    provider = {"type": "Prometheus", "address": "https://me:pass@prometheus:9090/x", "token": "secret"}
    enabled = {"score": {"enabled": [{"name": "TargetLoadPacking"}]}}
    args = {"name": "TargetLoadPacking", "args": {"metricProvider": provider}}
    config = from_builtins(configuration(enabled, args))
    text = json.dumps(to_builtins(config, redacts=True))
    assert "secret" not in text
    assert "pass" not in text
    assert "https://prometheus:9090/x" in text
    assert from_builtins(to_builtins(config)) == config
