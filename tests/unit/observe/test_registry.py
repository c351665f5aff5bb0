from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from stowplan.observe.registry import ALPHA, STABLE, MetricRegistry


def test_the_text_of_all_kinds() -> None:
    registry = MetricRegistry()
    registry.counter("b_total", STABLE, "Counts.", ("result", "profile")).series("ok", "p").add(2)
    registry.gauge("a", ALPHA, "Reads.", ("queue",), lambda: {("active",): 3})
    registry.histogram("c_seconds", ALPHA, "Times.", (0.5, 1.0)).series().observe(0.7)
    assert registry.expose().decode() == (
        "# HELP a [ALPHA] Reads.\n# TYPE a gauge\n"
        'a{queue="active"} 3\n'
        "# HELP b_total [STABLE] Counts.\n# TYPE b_total counter\n"
        'b_total{profile="p",result="ok"} 2\n'
        "# HELP c_seconds [ALPHA] Times.\n# TYPE c_seconds histogram\n"
        'c_seconds_bucket{le="0.5"} 0\nc_seconds_bucket{le="1"} 1\nc_seconds_bucket{le="+Inf"} 1\n'
        "c_seconds_sum 0.7\nc_seconds_count 1\n"
    )


def test_prometheus_reads_what_is_written() -> None:
    registry = MetricRegistry()
    strange = 'a"b\\c\nd'
    registry.counter("x_total", STABLE, "X.", ("label",)).series(strange).add()
    (family,) = text_string_to_metric_families(registry.expose().decode())
    assert family.samples[0].labels == {"label": strange}


def test_a_metric_without_series_is_not_told_of() -> None:
    registry = MetricRegistry()
    registry.counter("x_total", STABLE, "X.", ("label",))
    assert registry.expose() == b""


def test_disabled_metrics_count_silently() -> None:
    registry = MetricRegistry(disabled=["x_total"])
    counter = registry.counter("x_total", STABLE, "X.")
    counter.series().add()
    assert registry.expose() == b""
    assert counter.series().value == 1


def test_only_allowed_label_values_are_told() -> None:
    registry = MetricRegistry(allowed={("x_total", "event"): {"NodeAdd"}})
    counter = registry.counter("x_total", STABLE, "X.", ("event",))
    counter.series("PodAdd").add()
    assert b'x_total{event="unexpected"} 1' in registry.expose()
    assert registry.unexpected.value == 1


def test_something_can_be_done_before_each_scrape() -> None:
    registry = MetricRegistry()
    counter = registry.counter("x_total", STABLE, "X.").series()
    registry.before_scrape(counter.add)
    registry.expose()
    assert b"x_total 2" in registry.expose()


def test_reset_counts_first_what_is_pending() -> None:
    registry = MetricRegistry()
    counter = registry.counter("x_total", STABLE, "X.").series()
    pending = [5.0]
    registry.before_scrape(lambda: counter.add(pending.pop()) if pending else None)
    registry.reset()
    assert b"x_total 0" in registry.expose()


def test_plugins_can_bring_metrics_of_their_own() -> None:
    registry = MetricRegistry()
    Counter("my_plugin_calls", "Calls.", registry=registry.others).inc()
    assert b"my_plugin_calls_total 1.0" in registry.expose()
