"""Metrics of requests to the API server, which every Kubernetes client has.

Upstream: k8s.io/component-base/metrics/prometheus/restclient/metrics.go
"""

from __future__ import annotations

from math import inf
from threading import Lock

from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import take

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)
_AGES = (600.0, *(hours * 3600.0 for hours in (0.5, 1, 4, 24, 168, 720, 2160, 4320, 8640, 34560)))
_MAX_UNCOUNTED_REQUESTS = 2048


class RequestMetrics:
    """Requests are recorded as they end, on any thread, and counted at the next scrape."""

    def __init__(self, registry: MetricRegistry, host: str) -> None:
        """`host` is the API server's address with its port."""
        self.host = host
        counter, gauge, histogram = registry.counter, registry.gauge, registry.histogram
        by_verb = ("verb", "host")
        text = "Number of HTTP requests, partitioned by status code, method, and host."
        self._requests = counter("rest_client_requests_total", ALPHA, text, ("code", "method", "host"))
        text = "Request latency in seconds. Broken down by verb, and host."
        self._seconds = histogram("rest_client_request_duration_seconds", ALPHA, text, _SECONDS, by_verb)
        text = "Client side rate limiter latency in seconds. Broken down by verb, and host."
        self._waits = histogram("rest_client_rate_limiter_duration_seconds", ALPHA, text, _SECONDS, by_verb)
        text = "Request size in bytes. Broken down by verb and host."
        self._sent = histogram("rest_client_request_size_bytes", ALPHA, text, _BYTES, by_verb)
        text = "Response size in bytes. Broken down by verb and host."
        self._received = histogram("rest_client_response_size_bytes", ALPHA, text, _BYTES, by_verb)
        text = (
            "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. "
            "The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are "
            "unused or manage no TLS certificates, the value will be +INF."
        )
        self.credentials_ttl = gauge("rest_client_exec_plugin_ttl_seconds", ALPHA, text).series()
        self.credentials_ttl.set(inf)
        text = (
            "Histogram of the number of seconds the last auth exec plugin client certificate lived before being "
            "rotated. If auth exec plugin client certificates are unused, histogram will contain no data."
        )
        self.certificate_age = histogram("rest_client_exec_plugin_certificate_rotation_age", ALPHA, text, _AGES)
        self._add_transports(registry)
        self._uncounted: dict[tuple[str, str], list[tuple[float, int, int, float]]] = {}
        self._counting = Lock()
        registry.before_scrape(self.count)

    def _add_transports(self, registry: MetricRegistry) -> None:
        """A transport is a TLS context with its connections."""
        text = "Number of transport entries in the internal cache."
        self._transports = registry.gauge("rest_client_transport_cache_entries", ALPHA, text).series()
        text = (
            "Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from the "
            "cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being "
            "garbage collected, uncacheable: created and not cached"
        )
        made = registry.counter("rest_client_transport_create_calls_total", ALPHA, text, ("result",))
        self._made, self._shared = made.series("miss"), made.series("hit")
        text = (
            "Number of times a cert rotation goroutine cancel func is called via GC cleanup of the associated transport"
        )
        self._dropped = registry.counter("rest_client_transport_cert_rotation_gc_calls_total", ALPHA, text).series()

    def transport_made(self) -> None:
        self._transports.add()
        self._made.add()

    def note(self, method: str, code: str, seconds: float, sent: int = 0, received: int = 0, waited: float = 0) -> None:
        """Record a request: its HTTP status or "<error>", its duration, its sizes in bytes, and the wait for the rate
        limiter."""
        rows = self._uncounted.get((method, code))
        if rows is None:
            rows = self._uncounted.setdefault((method, code), [])
        rows.append((seconds, sent, received, waited))
        if len(rows) > _MAX_UNCOUNTED_REQUESTS:
            self.count()

    def count(self) -> None:
        """Count the recorded requests."""
        with self._counting:
            for (method, code), rows in list(self._uncounted.items()):
                if taken := take(rows):
                    self._requests.series(code, method, self.host).add(len(taken))
                    families = (self._seconds, self._sent, self._received, self._waits)
                    for family, values in zip(families, zip(*taken, strict=True), strict=True):
                        family.series(method, self.host).observe_many(values)
