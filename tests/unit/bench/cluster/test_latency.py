import json

from stowplan.bench.cluster.latency import (
    LatencyFigures,
    LatencyReport,
    LatencySize,
    figures_of,
    node_body,
    pod_body,
    seconds_to_bind,
)
from stowplan.cli.bench_latency import table


def test_latency_is_counted_for_bound_pods() -> None:
    assert seconds_to_bind({"a": 1.0, "b": 2.0, "c": 3.0}, {"b": 2.5, "a": 1.25, "x": 9.0}) == [0.25, 0.5]
    found = figures_of(50, [number / 1000 for number in range(1, 201)])
    assert (found.pods, found.p50_ms, found.p99_ms, found.max_ms) == (200, 100.5, 199.0, 200.0)


def test_ratios_compare_rates_one_by_one() -> None:
    def figures(*p99_ms: float) -> list[LatencyFigures]:
        return [LatencyFigures(percent=10, pods=5, p50_ms=1.0, p99_ms=each, max_ms=9.0) for each in p99_ms]

    size = LatencySize(nodes=3, seconds=1, percents=(10,))
    report = LatencyReport(
        scenario="latency", size=size, ceiling=200.0, figures={"kube-scheduler": figures(8.0), "stowplan": figures(2.0)}
    )
    assert report.ratios == {"p99_ms at 10%": 0.25}
    assert json.loads(report.to_json())["ceiling"] == 200.0
    assert table([report])[-1] == "of kube-scheduler's: p99_ms at 10% 0.25"
    alone = LatencyReport(scenario="latency", size=size, ceiling=200.0, figures={"stowplan": figures(2.0)})
    assert alone.ratios == {}


def test_pods_fit_every_node() -> None:
    assert json.loads(node_body(3))["metadata"]["name"] == "node-3"
    assert json.loads(pod_body("p"))["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "100m"
