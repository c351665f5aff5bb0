import pytest

from stowplan.observe.metrics import GaugeSources, SchedulerMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.observe.series import Histogram


@pytest.fixture
def metrics() -> SchedulerMetrics:
    return SchedulerMetrics(MetricRegistry())


@pytest.mark.parametrize(
    ("attribute", "labels", "first", "last", "count"),
    [
        ("attempt_duration", ("scheduled", "p"), 0.001, 16.384, 15),
        ("algorithm_duration", (), 0.001, 16.384, 15),
        ("event_duration", ("NodeAdd",), 0.0001, 0.2048, 12),
        ("victims", (), 1, 64, 7),
        ("sli_duration", ("1",), 0.01, 5242.88, 20),
        ("pod_attempts", (), 1, 16, 5),
        ("point_duration", ("Filter", "Success", "p"), 0.0001, 0.2048, 12),
        ("plugin_duration", ("NodeName", "Filter", "Success"), 0.00001, 0.02216837820053101, 20),
        ("permit_wait", ("Success",), 0.001, 16.384, 15),
        ("hint_duration", ("NodeName", "NodeAdd", "Queue"), 0.00001, 0.02216837820053101, 20),
        ("preemption_duration", ("success",), 0.01, 5242.88, 20),
        ("hint_lookup", ("no_hint", "p"), 0.00001, 0.02048, 12),
        ("hint_storage", ("p",), 0.00001, 0.02048, 12),
        ("device_wait", ("p", "d", "success"), 0.1, 819.2, 14),
    ],
)
def test_buckets(
    metrics: SchedulerMetrics, attribute: str, labels: tuple[str, ...], first: float, last: float, count: int
) -> None:
    series = getattr(metrics, attribute).series(*labels)
    assert isinstance(series, Histogram)
    assert (series.bounds[0], len(series.bounds)) == (first, count)
    assert series.bounds[-1] == pytest.approx(last)


def test_gauges_are_read_at_the_scrape(metrics: SchedulerMetrics) -> None:
    active = [1]
    metrics.gauges = GaugeSources(
        pending_pods=lambda: {"active": active[0]},
        unschedulable_pods=lambda: {("NodeName", "p"): 2.0},
        goroutines=lambda: {"binding": 4},
    )
    active[0] = 7
    text = metrics.registry.expose().decode()
    assert 'scheduler_pending_pods{queue="active"} 7\n' in text
    assert 'scheduler_unschedulable_pods{plugin="NodeName",profile="p"} 2\n' in text
    assert 'scheduler_goroutines{operation="binding"} 4\n' in text


def test_without_sources_there_are_no_gauges(metrics: SchedulerMetrics) -> None:
    assert "scheduler_pending_pods" not in metrics.registry.expose().decode()
