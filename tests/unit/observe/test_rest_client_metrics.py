from stowplan.observe.registry import MetricRegistry
from stowplan.observe.rest_client_metrics import RequestMetrics


def test_requests_are_counted_when_somebody_looks() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry, "api:6443")
    metrics.note("POST", "201", 0.003, sent=300, received=100, waited=0.2)
    metrics.note("POST", "201", 0.3, sent=300, received=100)
    metrics.note("GET", "<error>", 1.5)
    text = registry.expose().decode()
    assert 'rest_client_requests_total{code="201",host="api:6443",method="POST"} 2\n' in text
    assert 'rest_client_requests_total{code="<error>",host="api:6443",method="GET"} 1\n' in text
    assert 'rest_client_request_duration_seconds_bucket{host="api:6443",verb="POST",le="0.005"} 1\n' in text
    assert 'rest_client_rate_limiter_duration_seconds_sum{host="api:6443",verb="POST"} 0.2\n' in text
    assert 'rest_client_request_size_bytes_sum{host="api:6443",verb="POST"} 600\n' in text
    assert "rest_client_exec_plugin_ttl_seconds +Inf\n" in text


def test_nothing_is_counted_twice() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry, "h")
    metrics.note("GET", "200", 0.1)
    registry.expose()
    assert 'rest_client_requests_total{code="200",host="h",method="GET"} 1\n' in registry.expose().decode()


def test_notes_do_not_grow_without_end() -> None:
    metrics = RequestMetrics(MetricRegistry(), "h")
    for _ in range(5000):
        metrics.note("GET", "200", 0.1)
    assert sum(map(len, metrics._uncounted.values())) < 3000


def test_transports() -> None:
    registry = MetricRegistry()
    RequestMetrics(registry, "h").transport_made()
    text = registry.expose().decode()
    assert "rest_client_transport_cache_entries 1\n" in text
    assert 'rest_client_transport_create_calls_total{result="miss"} 1\n' in text
