from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry


def test_names_and_buckets() -> None:
    registry = MetricRegistry()
    metrics = AccessMetrics(registry)
    metrics.authentications.series("success").add()
    metrics.token_review_duration.series("201").observe(0.6)
    text = registry.expose().decode()
    assert "# TYPE authentication_attempts counter\n" in text
    assert 'apiserver_delegated_authn_request_duration_seconds_bucket{code="201",le="0.7"} 1\n' in text
    assert 'authentication_token_cache_active_fetch_count{status="blocked"} 0\n' in text
