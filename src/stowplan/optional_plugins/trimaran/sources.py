"""Sources of load metrics: load-watcher, Prometheus, the metrics server, a file. All of them block.

Upstream: github.com/paypal/load-watcher/pkg/watcher/internal/metricsprovider
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    RemoteDisconnected,
)
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from stowplan.api.quantity import QuantityError, milli_value, value
from stowplan.config.args.trimaran import FILE, METRICS_SERVER, PROMETHEUS, TrimaranArgs
from stowplan.errors import os_error_text
from stowplan.optional_plugins.trimaran.load import (
    AVERAGE,
    CPU,
    DEVIATION,
    LATEST,
    MEMORY,
    LoadError,
    LoadSnapshot,
    Metric,
    decode_watcher_metrics,
    snapshot_of,
)

FETCH_TIMEOUT_SECONDS = 10.0
REPLY_TIMEOUT_SECONDS = 30.0
_PART_BYTES = 1 << 16
_MAX_SHOWN_CHARACTERS = 100
MAX_BODY_BYTES = 64 << 20
_PROMETHEUS_WINDOW = "15m"
_PROMETHEUS_METRICS = {CPU: "instance:node_cpu:ratio", MEMORY: "instance:node_memory_utilisation:ratio"}
_PROMETHEUS_FUNCTIONS = {AVERAGE: "avg_over_time", DEVIATION: "stddev_over_time"}
_METRICS_SERVER_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"

Capacities = Callable[[], Mapping[str, tuple[int, int]]]
"""Capacity (millicores, bytes) of each node, by name."""


class Fetch(NamedTuple):
    """One GET request."""

    url: str
    headers: Mapping[str, str]
    tls: ssl.SSLContext | None


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the token to another server."""

    def redirect_request(self, *args: Any) -> None:
        return None


class _Connections(HTTPHandler, HTTPSHandler):
    """Makes the connections of a request, and remembers them."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._tls = tls
        self.made: list[HTTPConnection] = []

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connect, HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connect, partial(HTTPSConnection, context=self._tls)), req)

    def _connect(self, kind: Callable[..., HTTPConnection], host: str, **options: Any) -> HTTPConnection:
        self.made.append(kind(host, **options))
        return self.made[-1]


def get(request: Fetch) -> bytes:
    """The body of a reply. Raises LoadError with one line."""
    connections = _Connections(request.tls)
    opener = build_opener(_NoRedirects, connections)
    try:
        with (
            _deadline(connections.made),
            opener.open(Request(request.url, headers=dict(request.headers)), timeout=FETCH_TIMEOUT_SECONDS) as reply,
        ):
            return _body(reply)
    except HTTPError as problem:
        raise LoadError(f"{problem.code} {problem.reason}"[:_MAX_SHOWN_CHARACTERS]) from problem
    except URLError as problem:
        reason = problem.reason
        raise LoadError(os_error_text(reason) if isinstance(reason, OSError) else str(reason)) from problem
    except BadStatusLine as problem:
        if isinstance(problem, RemoteDisconnected):
            raise LoadError(str(problem)) from problem
        raise LoadError(f"not HTTP: {problem.args[0][:_MAX_SHOWN_CHARACTERS]!r}") from problem
    except (OSError, HTTPException, ValueError) as problem:
        text = os_error_text(problem) if isinstance(problem, OSError) else str(problem)
        raise LoadError(text or type(problem).__name__) from problem


@contextmanager
def _deadline(made: list[HTTPConnection]) -> Iterator[None]:
    """Ends a reply whose header or body takes too long; the timeout of the socket is that of one part."""
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        for connection in made:
            if (sock := connection.sock) is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(REPLY_TIMEOUT_SECONDS, end)
    timer.daemon = True
    timer.start()
    late = LoadError(f"the reply takes longer than {REPLY_TIMEOUT_SECONDS:g} s")
    try:
        yield
    except Exception as problem:
        if is_over.is_set():
            raise late from problem
        raise
    finally:
        timer.cancel()
    if is_over.is_set():
        raise late


def _body(reply: HTTPResponse) -> bytes:
    """The body, within bounds of size and time."""
    parts: list[bytes] = []
    size, deadline = 0, time.monotonic() + REPLY_TIMEOUT_SECONDS
    while part := reply.read1(_PART_BYTES):
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise LoadError(f"the reply is larger than {MAX_BODY_BYTES >> 20} MiB")
        if time.monotonic() > deadline:
            raise LoadError(f"the reply takes longer than {REPLY_TIMEOUT_SECONDS:g} s")
    return b"".join(parts)


class LoadSource:
    """Reads the metrics that the args name. `fetch` and `clock` are the only I/O, besides a file."""

    def __init__(
        self,
        args: TrimaranArgs,
        connection: Any,
        capacities: Capacities,
        fetch: Callable[[Fetch], bytes] = get,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._args = args
        self._connection = connection
        self._capacities = capacities
        self._fetch = fetch
        self._clock = clock

    @property
    def name(self) -> str:
        """The source in logs."""
        shown = self._args.redacted()
        return shown.watcher_address or shown.metric_provider.address or shown.metric_provider.type

    def read(self) -> LoadSnapshot:
        """The current metrics. Raises LoadError."""
        if self._args.watcher_address:
            address = self._args.watcher_address.rstrip("/")
            return decode_watcher_metrics(self._fetch(Fetch(f"{address}/watcher", {}, None)))
        readers = {FILE: self._read_file, PROMETHEUS: self._read_prometheus, METRICS_SERVER: self._read_metrics_server}
        return readers[self._args.metric_provider.type]()

    def _read_file(self) -> LoadSnapshot:
        try:
            with Path(self._args.metric_provider.address).open("rb") as file:
                body = file.read(MAX_BODY_BYTES + 1)
        except OSError as problem:
            raise LoadError(os_error_text(problem)) from problem
        if len(body) > MAX_BODY_BYTES:
            raise LoadError(f"the file is larger than {MAX_BODY_BYTES >> 20} MiB")
        return decode_watcher_metrics(body)

    def _read_prometheus(self) -> LoadSnapshot:
        metrics: dict[str, list[Metric]] = {}
        window_end = self._clock()
        for type_, series in _PROMETHEUS_METRICS.items():
            for operator, function in _PROMETHEUS_FUNCTIONS.items():
                for instance, ratio in self._query(f"{function}({series}[{_PROMETHEUS_WINDOW}])").items():
                    metrics.setdefault(instance, []).append(Metric(type_, operator, 100 * ratio))
        return snapshot_of(metrics, window_end)

    def _query(self, query: str) -> dict[str, float]:
        """The values of an instant query by the label `instance`, without its port."""
        provider = self._args.metric_provider
        tls = None
        if provider.address.startswith("https:"):
            tls = ssl.create_default_context()
            if provider.insecure_skip_verify:
                tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        headers = {"Authorization": f"Bearer {provider.token}"} if provider.token else {}
        url = f"{provider.address.rstrip('/')}/api/v1/query?query={quote(query)}"
        try:
            found = msgspec.json.decode(self._fetch(Fetch(url, headers, tls)), type=_PrometheusReply)
            return {
                item.metric.get("instance", "").partition(":")[0]: float(item.value[1]) for item in found.data.result
            }
        except (msgspec.MsgspecError, ValueError) as problem:
            raise LoadError(f"not Prometheus' JSON: {problem}") from problem

    def _read_metrics_server(self) -> LoadSnapshot:
        if self._connection is None:
            raise LoadError(
                "the metrics server is read in a cluster only; set metricProvider.type to File or Prometheus"
            )
        login = self._connection.renew()
        body = self._fetch(Fetch(self._connection.url + _METRICS_SERVER_PATH, login.headers, login.tls))
        try:
            items = msgspec.json.decode(body, type=_NodeMetricsList).items
            used = {item.metadata.name: (milli_value(item.usage.cpu), value(item.usage.memory)) for item in items}
        except (msgspec.MsgspecError, QuantityError) as problem:
            raise LoadError(f"not NodeMetrics: {problem}") from problem
        capacities = self._capacities()
        return snapshot_of(
            {
                name: [
                    Metric(type_, LATEST, 100 * amount / capacity)
                    for type_, amount, capacity in zip((CPU, MEMORY), amounts, capacities[name], strict=True)
                    if capacity
                ]
                for name, amounts in used.items()
                if name in capacities
            },
            self._clock(),
        )


class _PrometheusItem(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _PrometheusData(msgspec.Struct, frozen=True):
    result: tuple[_PrometheusItem, ...]


class _PrometheusReply(msgspec.Struct, frozen=True):
    data: _PrometheusData


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Used(msgspec.Struct, frozen=True):
    cpu: str = "0"
    memory: str = "0"


class _MeasuredNode(msgspec.Struct, frozen=True):
    metadata: _Name
    usage: _Used = _Used()


class _NodeMetricsList(msgspec.Struct, frozen=True):
    items: tuple[_MeasuredNode, ...]
