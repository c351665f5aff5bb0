"""Metrics of authentication and authorization of the server's clients.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/metrics.go, k8s.io/apiserver/pkg/authentication/token/cache/stats.go,
k8s.io/apiserver/pkg/server/options/authentication.go (delegated requests)
"""

from __future__ import annotations

from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import exponential

_SECONDS = exponential(0.001, 2, 15)
_CACHE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REVIEW_SECONDS = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)


class AccessMetrics:
    """One attribute per metric. All are fed by the server's thread."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._add_decisions(registry)
        self._add_token_cache(registry)
        self._add_reviews(registry)

    def _add_decisions(self, registry: MetricRegistry) -> None:
        result = ("result",)
        text = "Counter of authenticated requests broken out by username."
        self.users = registry.counter("authenticated_user_requests", ALPHA, text, ("username",))
        text = "Counter of authenticated attempts."
        self.authentications = registry.counter("authentication_attempts", ALPHA, text, result)
        name, text = "authentication_duration_seconds", "Authentication duration in seconds broken out by result."
        self.authentication_duration = registry.histogram(name, ALPHA, text, _SECONDS, result)
        text = (
            "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', "
            "'no-opinion' or 'error'."
        )
        self.authorizations = registry.counter("authorization_attempts_total", ALPHA, text, result)
        name, text = "authorization_duration_seconds", "Authorization duration in seconds broken out by result."
        self.authorization_duration = registry.histogram(name, ALPHA, text, _SECONDS, result)

    def _add_token_cache(self, registry: MetricRegistry) -> None:
        """Upstream has no help texts for these."""
        status = ("status",)
        text = "Number of lookups in the token cache, by hit or miss."
        self.token_lookups = registry.counter("authentication_token_cache_request_total", ALPHA, text, status)
        name, text = "authentication_token_cache_request_duration_seconds", "Latency of token lookups in seconds."
        self.token_lookup_duration = registry.histogram(name, ALPHA, text, _CACHE_SECONDS, status)
        text = "Number of tokens reviewed by the API server, by result."
        self.token_fetches = registry.counter("authentication_token_cache_fetch_total", ALPHA, text, status)
        text = "Number of token reviews under way, and of requests that wait for one."
        active = registry.gauge("authentication_token_cache_active_fetch_count", ALPHA, text, status)
        self.fetching, _ = active.series("in_flight"), active.series("blocked")

    def _add_reviews(self, registry: MetricRegistry) -> None:
        code = ("code",)
        number = "Number of HTTP requests partitioned by status code."
        seconds = "Request latency in seconds. Broken down by status code."
        self.token_reviews = registry.counter("apiserver_delegated_authn_request_total", ALPHA, number, code)
        name = "apiserver_delegated_authn_request_duration_seconds"
        self.token_review_duration = registry.histogram(name, ALPHA, seconds, _REVIEW_SECONDS, code)
        self.access_reviews = registry.counter("apiserver_delegated_authz_request_total", ALPHA, number, code)
        name = "apiserver_delegated_authz_request_duration_seconds"
        self.access_review_duration = registry.histogram(name, ALPHA, seconds, _REVIEW_SECONDS, code)
