"""Metrics about visitors of the server: who they turned out to be, and whether they were let in."""

from __future__ import annotations

from stowplan.observe.registry import ALPHA, MetricRegistry
from stowplan.observe.series import exponential

_USUAL = exponential(0.001, 2, 15)
_CACHE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ASKING = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)


class AccessMetrics:
    """One attribute a metric. All of them are fed by the server's own thread."""

    def __init__(self, registry: MetricRegistry) -> None:
        counter, gauge, histogram = registry.counter, registry.gauge, registry.histogram
        result, status, code = ("result",), ("status",), ("code",)
        text = "Requests of users, most of whom are other."
        self.users = counter("authenticated_user_requests", ALPHA, text, ("username",))
        text = "Attempts to find out who a visitor is."
        self.authentications = counter("authentication_attempts", ALPHA, text, result)
        text = "Time it took to find out who a visitor is, in seconds."
        self.authentication_duration = histogram("authentication_duration_seconds", ALPHA, text, _USUAL, result)
        text = "Attempts to find out whether a visitor may do something."
        self.authorizations = counter("authorization_attempts_total", ALPHA, text, result)
        text = "Time it took to find out whether a visitor may do something, in seconds."
        self.authorization_duration = histogram("authorization_duration_seconds", ALPHA, text, _USUAL, result)
        text = "Tokens looked up, by whether they were known."
        self.token_lookups = counter("authentication_token_cache_request_total", ALPHA, text, status)
        text = "Time it took to look up a token, in seconds."
        name = "authentication_token_cache_request_duration_seconds"
        self.token_lookup_duration = histogram(name, ALPHA, text, _CACHE, status)
        text = "Tokens that the API server was asked about."
        self.token_fetches = counter("authentication_token_cache_fetch_total", ALPHA, text, status)
        text = "Tokens that the API server is being asked about."
        active = gauge("authentication_token_cache_active_fetch_count", ALPHA, text, status)
        self.fetching, _ = active.series("in_flight"), active.series("blocked")
        text = "Reviews asked of the API server about tokens, by the code of its answer."
        self.token_reviews = counter("apiserver_delegated_authn_request_total", ALPHA, text, code)
        text = "Time until the answer to a review about a token, in seconds."
        name = "apiserver_delegated_authn_request_duration_seconds"
        self.token_review_duration = histogram(name, ALPHA, text, _ASKING, code)
        text = "Reviews asked of the API server about rights, by the code of its answer."
        self.access_reviews = counter("apiserver_delegated_authz_request_total", ALPHA, text, code)
        text = "Time until the answer to a review about rights, in seconds."
        name = "apiserver_delegated_authz_request_duration_seconds"
        self.access_review_duration = histogram(name, ALPHA, text, _ASKING, code)
