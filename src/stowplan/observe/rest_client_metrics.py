"""Metrics of the requests that are sent to the API server, as every Kubernetes client counts them."""

from __future__ import annotations

from math import inf
from threading import Lock

from stowplan.observe.registry import ALPHA, MetricRegistry

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)
_AGES = (600.0, *(hours * 3600.0 for hours in (0.5, 1, 4, 24, 168, 720, 2160, 4320, 8640, 34560)))
_MOST_UNCOUNTED = 2048


class RequestMetrics:
    """Requests are noted as they end, by whatever thread, and counted when somebody looks."""

    def __init__(self, registry: MetricRegistry, host: str) -> None:
        """`host` is the API server's address with its port."""
        self.host = host
        counter, gauge, histogram = registry.counter, registry.gauge, registry.histogram
        by_verb = ("verb", "host")
        text = "Requests to the API server."
        self._requests = counter("rest_client_requests_total", ALPHA, text, ("code", "method", "host"))
        text = "Time until the answer, in seconds."
        self._seconds = histogram("rest_client_request_duration_seconds", ALPHA, text, _SECONDS, by_verb)
        text = "Time that the client's own rate limit held requests back, in seconds."
        self._waits = histogram("rest_client_rate_limiter_duration_seconds", ALPHA, text, _SECONDS, by_verb)
        text = "Size of requests, in bytes."
        self._sent = histogram("rest_client_request_size_bytes", ALPHA, text, _BYTES, by_verb)
        text = "Size of answers, in bytes."
        self._received = histogram("rest_client_response_size_bytes", ALPHA, text, _BYTES, by_verb)
        text = "Seconds until the credentials of a plugin expire, infinite where they do not."
        self.credentials_ttl = gauge("rest_client_exec_plugin_ttl_seconds", ALPHA, text).series()
        self.credentials_ttl.set(inf)
        text = "Age of client certificates when a plugin replaced them, in seconds."
        self.certificate_age = histogram("rest_client_exec_plugin_certificate_rotation_age", ALPHA, text, _AGES)
        self._add_transports(registry)
        self._uncounted: dict[tuple[str, str], list[tuple[float, int, int, float]]] = {}
        self._counting = Lock()
        registry.before_scrape(self.count)

    def _add_transports(self, registry: MetricRegistry) -> None:
        """A transport is what one way of logging in to the API server needs: a TLS context and its connections."""
        text = "Transports in use."
        self._transports = registry.gauge("rest_client_transport_cache_entries", ALPHA, text).series()
        text = "Transports asked for, by whether there was one."
        made = registry.counter("rest_client_transport_create_calls_total", ALPHA, text, ("result",))
        self._made, self._shared = made.series("miss"), made.series("hit")
        text = "Transports dropped."
        self._dropped = registry.counter("rest_client_transport_cert_rotation_gc_calls_total", ALPHA, text).series()

    def transport_made(self) -> None:
        self._transports.add()
        self._made.add()

    def note(self, method: str, code: str, seconds: float, sent: int = 0, received: int = 0, waited: float = 0) -> None:
        """A request has ended: its HTTP status or "<error>", times in seconds, sizes in bytes, and how long our own
        rate limit held it back."""
        rows = self._uncounted.get((method, code))
        if rows is None:
            rows = self._uncounted.setdefault((method, code), [])
        rows.append((seconds, sent, received, waited))
        if len(rows) > _MOST_UNCOUNTED:
            self.count()

    def count(self) -> None:
        """Count what was noted."""
        with self._counting:
            for (method, code), rows in list(self._uncounted.items()):
                if taken := rows[:]:
                    del rows[: len(taken)]
                    self._requests.series(code, method, self.host).add(len(taken))
                    families = (self._seconds, self._sent, self._received, self._waits)
                    for family, values in zip(families, zip(*taken, strict=True), strict=True):
                        family.series(method, self.host).observe_many(values)
