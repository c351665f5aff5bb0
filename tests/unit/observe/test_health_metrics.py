from stowplan.observe.health import HealthCheck, HealthMetrics, HealthPage


def test_checks_are_counted_by_page() -> None:
    metrics = HealthMetrics()
    problems = ["too late"]
    page = HealthPage("readyz", [HealthCheck("sync", lambda: problems[0] if problems else None)], metrics.on_check)
    page.report()
    problems.clear()
    page.report()
    text = metrics.registry.expose().decode()
    assert 'kubernetes_healthcheck{name="sync",type="readyz"} 1\n' in text
    assert 'kubernetes_healthchecks_total{name="sync",status="error",type="readyz"} 1\n' in text
    assert 'kubernetes_healthchecks_total{name="sync",status="success",type="readyz"} 1\n' in text
    assert "\nprocess_start_time_seconds " in text
