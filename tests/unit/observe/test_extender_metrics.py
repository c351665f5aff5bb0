from __future__ import annotations

from stowplan.extender.client import CallOutcome
from stowplan.observe.extender_metrics import ExtenderMetrics
from stowplan.observe.registry import MetricRegistry


def test_calls_are_counted_by_extender_and_verb() -> None:
    registry = MetricRegistry()
    metrics = ExtenderMetrics(registry)
    metrics.open_circuits = lambda: {("http://a", "filter"): 1.0}
    metrics.note(CallOutcome("http://a", "filter", "success", 0.02, 100, 7))
    metrics.note(CallOutcome("http://a", "filter", "unreachable", 5.0, 100))
    metrics.note(CallOutcome("http://a", "filter", "spared"))
    told = registry.expose().decode()
    of = 'extender="http://a",verb="filter"'
    by_result = 'extender="http://a",result="{}",verb="filter"'
    assert f"stowplan_extender_call_duration_seconds_count{{{by_result.format('success')}}} 1" in told
    assert f'stowplan_extender_call_duration_seconds_bucket{{{by_result.format("unreachable")},le="2.5"}} 0' in told
    assert f"stowplan_extender_sent_bytes_total{{{of}}} 200" in told
    assert f"stowplan_extender_received_bytes_total{{{of}}} 7" in told
    assert f"stowplan_extender_spared_calls_total{{{of}}} 1" in told
    assert f"stowplan_extender_circuit_open{{{of}}} 1" in told
