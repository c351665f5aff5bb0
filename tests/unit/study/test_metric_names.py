"""Names of metrics: every metric and series of a run is possible, misspelt ones are not."""

from __future__ import annotations

import pytest

from stowplan.cli.scenario import EXAMPLE
from stowplan.simulator.scenario import load_scenario
from stowplan.study import run
from stowplan.study.metric_names import MetricNames

TEXT = EXAMPLE.replace("until: {time: 1d}", "until: {time: 3h}\nrecord: {slo: {wait: 5m}}").partition("expect:")[0]
DISK = TEXT.replace("{cpu: ", "{example.com/disk: 4, cpu: ")


def names(text: str = TEXT, further: str = "") -> MetricNames:
    return MetricNames(load_scenario("s.yaml", text.encode()), further)


def test_every_metric_and_series_of_a_run_is_possible() -> None:
    result = run(load_scenario("s.yaml", DISK.encode()))
    given = [f"{each.metric} {each.key}".rstrip() for each in result.values]
    assert {"utilisation.example.com/disk", "wait.p95 workload=web", "slo.wait"} <= {*given}
    assert [problem for each in given if (problem := names(DISK).problem(each))] == []
    series = {name for _, name, group, _ in result.series.rows() if not group}
    assert [problem for each in series if (problem := names(DISK).series_problem(each))] == []


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ("wait.p955", 'unknown metric wait.p955 (did you mean "wait.p95"?)'),
        ("wait", "unknown metric wait"),
        ("utilisation.gpu", "unknown metric utilisation.gpu"),
        ("utilisation.", "unknown metric utilisation."),
        ("wait.p95 web", "expected a group such as workload=NAME, of workload, tenant, priority"),
        ("wait.p95 pool=web", "expected a group such as workload=NAME, of workload, tenant, priority"),
        ("wait.p95 workload=batsh", 'no workload is named "batsh" (did you mean "batch"?)'),
    ],
)
def test_misspelt_metrics(metric: str, problem: str) -> None:
    assert problem in names().problem(metric)


def test_names_that_a_variation_mentions_are_possible() -> None:
    further = names(further='{"nodes.pools.general.template.status.allocatable.gpu":[1],"x":["wep"]}')
    assert further.problem("utilisation.gpu") == further.problem("wait.p95 workload=wep") == ""


def test_misspelt_series() -> None:
    assert names().series_problem("utilisation.cpu") == ""
    assert names().series_problem("utilisation.cpuu") == 'no series utilisation.cpuu (did you mean "utilisation.cpu"?)'
    assert names().series_problem("imbalance.nvidia.com/gpu") == "no series imbalance.nvidia.com/gpu"
