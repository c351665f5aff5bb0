from __future__ import annotations

import gc
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.simulator.scenario.scenarios import document, load, pod, pool, workload

from stowplan.config import KubeSchedulerConfiguration, from_builtins
from stowplan.errors import ConfigError, InputError, StowplanError
from stowplan.runtime.gc_tuning import GC_THRESHOLDS
from stowplan.simulator.scenario import compile_scenario
from stowplan.study import RunResult, RunSettings, run
from stowplan.study.compare import compare_results
from stowplan.study.expectation_checks import check_expectations
from stowplan.study.files import load_summary, run_document
from stowplan.study.html import result_page
from stowplan.study.metric_value import percentile
from stowplan.study.metrics import known_metrics, qualifiers_of
from stowplan.study.placement_metrics import RequestClasses
from stowplan.study.run import LiveRun, sample_interval
from stowplan.study.table import ResultTable
from stowplan.study.texts import junit, summary_rows

POISSON: dict[str, Any] = {
    "name": "batch",
    "template": pod("2"),
    "arrivals": {"poisson": {"rate": "2/m"}},
    "duration": {"exponential": {"mean": "2m"}},
}


def fast_backoff() -> KubeSchedulerConfiguration:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return from_builtins({**head, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1})


def whole(result: RunResult) -> Any:
    return run_document(result), {name: list(table.rows()) for name, table in result.tables.items()}


def test_equal_seeds_give_equal_results_and_others_do_not() -> None:
    first, second = (whole(run(load(POISSON), seed=3)) for _ in range(2))
    assert json.dumps(first) == json.dumps(second)
    assert whole(run(load(POISSON), seed=4)) != first


def test_a_run_that_is_continued_equals_the_run() -> None:
    live = LiveRun(load(POISSON), 3, RunSettings())
    for time in (100.5, 1800, 1800, 2000, math.inf):
        live.run_until(time)
    assert whole(live.result()) == whole(run(load(POISSON), seed=3))


@pytest.mark.parametrize(
    ("until", "record", "seconds"),
    [
        ("50h", {}, 60),
        ("51h", {}, 300),
        ("1w", {}, 300),
        ("4w", {}, 900),
        ("1w", {"every": "30s"}, 30),
        ("100w", {}, 3600),
    ],
)
def test_long_runs_are_sampled_less_often(until: str, record: dict[str, Any], seconds: float) -> None:
    assert sample_interval(load(POISSON, until={"time": until}, record=record)) == seconds


def test_a_run_without_a_time_limit_is_sampled_every_minute() -> None:
    limited = {**POISSON, "arrivals": {**POISSON["arrivals"], "limit": 3}}
    assert sample_interval(load(limited, until={"drained": True})) == 60


def test_the_collector_rests_during_a_run_only() -> None:
    before, during = gc.get_threshold(), []
    run(load(POISSON), settings=RunSettings(on_progress=lambda now, horizon: during.append(gc.get_threshold())))
    assert set(during) == {GC_THRESHOLDS}
    assert gc.get_threshold() == before


def test_a_switched_off_collector_stays_off() -> None:
    before, during = gc.get_threshold(), []
    gc.set_threshold(0)
    try:
        run(load(POISSON), settings=RunSettings(on_progress=lambda now, horizon: during.append(gc.get_threshold()[0])))
    finally:
        gc.set_threshold(*before)
    assert set(during) == {0}


def test_samples_follow_nodes_that_shrink() -> None:
    """Two nodes with 4 cores and a pod of 2; from 10 minutes on, one node has half of its cores."""
    given = {"name": "b", "template": pod("2"), "arrivals": {"at": [0]}, "duration": "2h"}
    failures = [{"kind": "degrade", "nodes": {"name": "general-1"}, "at": "10m"}]
    result = run(load(given, nodes={"pools": [pool(count=2)]}, failures=failures, ties="name"))
    times, values = result.series_of("imbalance.cpu")
    assert {time < 600: value for time, value in zip(times, values, strict=True)} == {True: 0.25, False: 0.5}


def test_metrics_of_a_run_worked_out_by_hand() -> None:
    """One node with 4 cores; pods of 4 cores that run for 10 minutes arrive at 0, 2 and 50 minutes."""
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0, "2m", "50m"]}, "duration": "10m"}
    found = run(load(given), settings=RunSettings(fast_backoff())).summary
    assert found["jobs"] == 3
    assert found["unfinished"] == 0
    assert found["wait.max"] == 480
    assert found["wait.mean"] == 160
    assert found["jct.mean"] == (600 + 1080 + 600) / 3
    assert found["slowdown.max"] == 1.8
    assert found["makespan"] == 3600
    assert found["utilisation.cpu"] == pytest.approx(0.5)
    assert found["pending"] == pytest.approx(480 / 3600)
    assert found["running"] == pytest.approx(0.5)
    assert found["throughput"] == 3
    assert found["goodput.cpu"] == pytest.approx(0.5)


def test_the_warm_up_is_left_out() -> None:
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0, "2m", "50m"]}, "duration": "10m"}
    found = run(load(given, record={"from": "30m"}), settings=RunSettings(fast_backoff())).summary
    assert found["jobs"] == 1
    assert found["wait.max"] == 0
    assert found["utilisation.cpu"] == pytest.approx(600 / 1800)


def test_cost_counts_nodes_that_exist() -> None:
    found = run(load(nodes={"pools": [pool(count=3, price=2.0)]}, until={"time": "2h"})).summary
    assert found["cost"] == pytest.approx(12.0)
    assert found["nodes"] == 3
    assert found["nodes.empty"] == 3


def test_jobs_are_finished_with_their_last_pod() -> None:
    given = {
        "name": "train",
        "template": workload("Job", "train", "4", parallelism=1, completions=2),
        "arrivals": {"at": [0]},
        "duration": "10m",
    }
    result = run(load(given), settings=RunSettings(fast_backoff()))
    (row,) = result.jobs.rows()
    job = dict(zip(result.jobs.columns, row, strict=True))
    assert (job["job"], job["pods"], job["jct_s"], job["outcome"]) == ("default/train-1", 2, 1200, "succeeded")


def test_preempted_pods_lose_their_work_and_start_over() -> None:
    low = {"name": "low", "template": pod("4"), "arrivals": {"at": [0]}, "duration": "10m", "resubmit": True}
    high = {"name": "high", "template": pod("4", priority=100), "arrivals": {"at": ["5m"]}, "duration": "10m"}
    found = run(load(low, high), settings=RunSettings(fast_backoff()))
    assert found.summary["preemptions"] == 1
    assert found.summary["lost.cpu"] == pytest.approx(4 * 300 / 3600)
    assert found.value("jct.mean", "workload=low") == 300 + 600 + 600
    kept = {**low, "restart": {"checkpoint": "2m"}}
    found = run(load(kept, high), settings=RunSettings(fast_backoff()))
    assert found.summary["lost.cpu"] == pytest.approx(4 * 60 / 3600)
    assert found.value("jct.mean", "workload=low") == 300 + 600 + 360
    resumed = {**low, "restart": {"resume": True}}
    found = run(load(resumed, high), settings=RunSettings(fast_backoff()))
    assert found.summary["lost.cpu"] == 0
    assert found.value("jct.mean", "workload=low") == 300 + 600 + 300


def test_fairness_of_two_tenants() -> None:
    given = {**POISSON, "tenant": {"choice": {"a": 1, "b": 1}}}
    assert 0.8 < run(load(given)).summary["fairness.jain"] <= 1
    given = {**POISSON, "tenant": {"zipf": {"names": ["a", "b"], "s": 4}}}
    assert run(load(given)).summary["fairness.jain"] < 0.75


@pytest.mark.parametrize(
    ("expectation", "found"),
    [
        ({"metric": "wait.max", "below": "9m"}, "8m00s"),
        ({"metric": "wait.max", "where": {"workload": "b"}, "below": 481, "above": 479}, "8m00s"),
        ({"metric": "utilisation.cpu", "over": ["0s", "20m"], "equals": 1}, "1 from 0s to 20m00s"),
        ({"metric": "pending", "at": "3m", "equals": 1}, "1 at 3m00s"),
        ({"metric": "pending", "at": "end", "below": 1}, "0 at 1h00m"),
        ({"pods": {"workload": "b"}, "all": "running", "at": "1m"}, "1 running at 1m00s"),
        ({"pods": {"name": "b-1"}, "on": {"pool": "general"}, "at": "1m"}, "1 of 1 pods are at 1m00s"),
    ],
)
def test_expectations_that_hold(expectation: dict[str, Any], found: str) -> None:
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0, "2m", "50m"]}, "duration": "10m"}
    result = run(load(given, expect=[expectation]), settings=RunSettings(fast_backoff()))
    assert [(each.holds, each.found) for each in result.expectations] == [(True, found)]


@pytest.mark.parametrize(
    "expectation",
    [
        {"metric": "wait.max", "below": "8m"},
        {"metric": "pending", "at": "2h", "below": 5},
        {"pods": {"workload": "b"}, "all": "running", "at": "3m"},
        {"pods": {"app": "c"}, "all": "running", "at": "3m"},
        {"metric": "utilisation.cpu", "over": ["0s", "2h"], "above": 0},
        {"metric": "evictions", "where": {"tenant": "prood"}, "equals": 0},
        {"metric": "evictions", "where": {"priority": "prood"}, "equals": 0},
    ],
)
def test_expectations_that_do_not_hold(expectation: dict[str, Any]) -> None:
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0, "2m", "50m"]}, "duration": "10m"}
    result = run(load(given, expect=[expectation]), settings=RunSettings(fast_backoff()))
    assert not result.holds
    assert "<failure" in junit([result])


def test_pods_are_spread_over_zones() -> None:
    web = {"name": "web", "template": workload("Deployment", "web", "100m", replicas=4)}
    nodes = {"pools": [pool(count=2, zones={"a": 1, "b": 1})]}
    expect = [{"pods": {"app": "web"}, "spread": "topology.kubernetes.io/zone", "skew": 1, "at": "end"}]
    result = run(load(web, nodes=nodes, expect=expect))
    assert [each.found for each in result.expectations] == ["skew 0 (a 2, b 2) at 1h00m"]


@pytest.mark.parametrize(
    ("expectation", "line"),
    [
        (
            {"metric": "wait.p9x5", "below": 1},
            '$.expect[0].metric: unknown metric wait.p9x5 (did you mean "wait.p95"?)',
        ),
        ({"metric": "wait.p95"}, "$.expect[0]: expected below, above, equals or compare"),
        (
            {"metric": "wait.p95", "below": "x"},
            "$.expect[0].below: expected a number, a time such as 5m, or a percentage",
        ),
        ({"metric": "wait.p95", "over": [1, 2], "below": 1}, "$.expect[0].over: wait.p95 has no value over a window"),
        ({"metric": "wait.p95", "at": 1, "below": 1}, "$.expect[0].at: wait.p95 has no value at a moment"),
        ({"metric": "wait.p95", "at": "end", "below": 1}, "$.expect[0].at: wait.p95 has no value at a moment"),
        ({"metric": "pending.max", "over": [1, 2], "below": 1}, "$.expect[0].over: pending.max has no value over a"),
        ({"metric": "nodes.max", "at": 1, "below": 1}, "$.expect[0].at: nodes.max has no value at a moment"),
        (
            {"metric": "cost", "at": "1m", "below": 1},
            "$.expect[0].at: cost has no value at a moment; pending, running,",
        ),
        ({"metric": "cost", "at": "end", "below": 1}, "$.expect[0].at: cost has no value at a moment"),
        (
            {"metric": "pending", "where": {"workload": "batch"}, "at": "1m", "below": 1},
            "$.expect[0].where: pending has no values by workload, tenant and priority",
        ),
        (
            {"metric": "utilisation.cpu", "where": {"workload": "batch"}, "over": [1, 2], "below": 1},
            "$.expect[0].where: utilisation.cpu has no values by workload",
        ),
        (
            {"metric": "goodput.cpu", "where": {"workload": "batch"}, "above": 0},
            "$.expect[0].where: goodput.cpu has no",
        ),
        ({"metric": "nodes", "at": 1, "over": [1, 2], "below": 9}, "$.expect[0].over: at and over exclude each other"),
        (
            {"metric": "nodes", "at": 1, "compare": "x"},
            "$.expect[0].compare: whole runs are compared; remove at and over",
        ),
        ({"metric": "nodes", "below": 1, "worse": "5%"}, "$.expect[0].worse: needs compare"),
        ({"metric": "nodes", "below": 1, "all": "running"}, "$.expect[0].all: only of pods"),
        ({"pods": {"app": "a"}, "all": "running", "below": 1}, "$.expect[0].below: only of a metric"),
        ({"pods": {"app": "a"}, "all": "running", "over": [1, 2]}, "$.expect[0].over: only of a metric"),
        ({"pods": {"app": "a"}, "all": "running", "where": {"workload": "b"}}, "$.expect[0].where: only of a metric"),
        ({"pods": {"app": "a"}, "all": "running", "skew": 2}, "$.expect[0].skew: needs spread"),
        ({"metric": "slo.wait", "above": 0.9}, "$.expect[0].metric: slo.wait needs a bound in $.record.slo.wait"),
        ({"pods": {"app": "a"}}, "$.expect[0]: expected one of all, spread and on"),
        ({"metric": "jct.mean", "compare": "\0"}, "$.expect[0].compare: \0/run.json: not a result of a run"),
        ({"metric": "jct.mean", "compare": "nowhere"}, "$.expect[0].compare: nowhere/run.json: No such file"),
        (
            {"metric": "wait.p95", "where": {"size": "1"}, "below": 1},
            "$.expect[0].where.size: expected workload, tenant",
        ),
        (
            {"metric": "utilisation.cpuu", "below": 1},
            '$.expect[0].metric: no node has the resource cpuu (did you mean "cpu"?)',
        ),
        (
            {"metric": "allocation.cpu@91", "below": 1},
            '$.expect[0].metric: unknown metric allocation.cpu@91 (did you mean "allocation.cpu@90"?)',
        ),
        (
            {"metric": "wait.p95", "where": {"workload": "batsch"}, "below": 1},
            '$.expect[0].where.workload: no workload is named "batsch" (did you mean "batch"?)',
        ),
        (
            {"pods": {"workload": "batsch"}, "all": "running"},
            '$.expect[0].pods.workload: no workload is named "batsch" (did you mean "batch"?)',
        ),
    ],
)
def test_expectations_that_cannot_be_checked(expectation: dict[str, Any], line: str) -> None:
    batch = {"name": "batch", "template": pod("4"), "arrivals": {"at": [0]}}
    with pytest.raises(ConfigError) as caught:
        run(load(batch, expect=[expectation]))
    assert caught.value.problems[0].startswith(f"scenario.yaml: {line}")


CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "prod"}, "value": 100}


def test_an_expectation_about_a_priority_class_is_compared_with_an_earlier_result(tmp_path: Path) -> None:
    (tmp_path / "classes.yaml").write_text(json.dumps(CLASS))
    given = {**POISSON, "priority": {"choice": {"prod": 1, "system-node-critical": 1}}}
    expect = {"metric": "wait.mean", "where": {"priority": "prod"}, "compare": "base", "worse": "5%"}
    base = {"nodes": {"pools": [pool(count=9)]}, "manifests": ["classes.yaml"]}
    first = compile_scenario(document(given, **base), "scenario.yaml", tmp_path)
    run(first).save(tmp_path / "base")
    (found,) = run(compile_scenario(document(given, **base, expect=[expect]), "scenario.yaml", tmp_path)).expectations
    assert (found.holds, "nan" in found.found) == (True, False)
    other = {**expect, "where": {"workload": "batch", "priority": "prod"}}
    (found,) = run(compile_scenario(document(given, **base, expect=[other]), "scenario.yaml", tmp_path)).expectations
    assert (found.holds, found.found.endswith("before no values")) == (False, True)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"priority": {"choice": {"prood": 1}}}, "$.workloads[0].priority"),
        ({"priority": {"zipf": {"names": ["prood"]}}}, "$.workloads[0].priority"),
        ({"template": pod("1", priorityClassName="prood")}, "$.workloads[0]: Pod: priorityClassName"),
    ],
)
def test_an_unknown_priority_class_names_the_scenario(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        run(load({**POISSON, **changes}))
    assert str(caught.value) == f'scenario.yaml: {path}: no PriorityClass is named "prood": add it to manifests'


def test_results_are_written_and_compared_with_later_ones(tmp_path: Path) -> None:
    first = run(load(POISSON), seed=1)
    first.save(tmp_path / "base")
    document, rows = load_summary(tmp_path / "base")
    assert document["seed"] == 1
    assert {(each.metric, each.key): each.value for each in rows}["jct.mean", ""] == first.summary["jct.mean"]
    worse = {"metric": "jct.mean", "compare": str(tmp_path / "base"), "worse": "5%"}
    assert run(load(POISSON, expect=[worse]), seed=1).holds
    assert run(load(POISSON, expect=[{**worse, "above": 1}]), seed=1).holds
    assert not run(load(POISSON, expect=[{**worse, "below": 1}]), seed=1).holds
    assert not run(load({**POISSON, "duration": "10m"}, expect=[worse]), seed=1).holds


def test_tables_without_the_extra_are_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.study.files.has_parquet", lambda: False)
    result = run(load(POISSON), seed=1)
    for name in ("a", "b"):
        result.save(tmp_path / name)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "events.csv.gz", "jobs.csv.gz", "nodes.csv.gz", "pods.csv.gz", "run.json", "series.csv.gz", "summary.csv.gz",
    ]  # fmt: skip
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_tables_with_the_extra_are_parquet(tmp_path: Path) -> None:
    reader = pytest.importorskip("arro3.io")
    result = run(load(POISSON), seed=1)
    result.save(tmp_path)
    found = reader.read_parquet(str(tmp_path / "pods.parquet")).read_all()
    assert found.num_rows == len(result.pods)
    assert found.column_names[:3] == ["run", "pod", "job"]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the results there are not complete"):
        run(load(POISSON)).save(tmp_path / "file" / "below")


def test_a_full_disk_is_one_line_and_leaves_no_complete_result(tmp_path: Path) -> None:
    for name in ("pods.parquet", "pods.csv.gz"):
        (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device; the results there are not complete"):
        run(load(POISSON)).save(tmp_path)
    assert not (tmp_path / "run.json").exists()


def test_an_unknown_metric_is_refused_with_a_suggestion() -> None:
    result = run(load(POISSON))
    with pytest.raises(InputError, match=r'unknown metric jct.meen \(did you mean "jct.mean"\?\)'):
        result.value("jct.meen")
    with pytest.raises(InputError, match="no values for workload=x"):
        result.value("jct.mean", "workload=x")


def test_percentiles_are_nearest_rank() -> None:
    import numpy as np

    values = np.array([15.0, 20, 35, 40, 50])
    assert [percentile(values, percent) for percent in (5, 30, 40, 50, 100)] == [15, 20, 20, 35, 50]
    assert math.isnan(percentile(np.array([]), 50))


def test_large_tables_are_kept_in_blocks() -> None:
    given = {"name": "b", "template": pod("10m"), "arrivals": {"every": 0.5}, "duration": "1s"}
    result = run(load(given))
    assert len(result.pods) == 7201
    assert sorted(result.pods["submitted"].tolist()) == [number / 2 for number in range(7201)]
    assert list(pickle.loads(pickle.dumps(result.pods)).rows()) == list(result.pods.rows())


def test_rows_beyond_the_memory_limit_are_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.study.table._MAX_BYTES_IN_MEMORY", 1000)
    table = ResultTable("t", ("number", "text"))
    rows = [(number, f"row {number}") for number in range(10_000)]
    for row in rows:
        table.append(row)
    assert list(table.rows()) == rows
    assert list(pickle.loads(pickle.dumps(table)).rows()) == rows


def test_ties_by_name_do_not_depend_on_the_seed() -> None:
    given = {"name": "b", "template": pod("1"), "arrivals": {"at": [0, 10, 20]}, "duration": "1h"}
    nodes = {"pools": [pool(count=5)]}
    by_name = [run(load(given, nodes=nodes, ties="name"), seed=seed).pods["node"].tolist() for seed in range(4)]
    assert by_name == [["general-1", "general-2", "general-3"]] * 4
    by_noise = [run(load(given, nodes=nodes), seed=seed).pods["node"].tolist() for seed in range(4)]
    assert by_noise[1:] != by_noise[:-1]
    with pytest.raises(StowplanError, match=r"\$\.ties"):
        load(given, ties="rank")


def test_pods_of_a_gang_run_together_or_not_at_all() -> None:
    """Two Jobs of three pods on four cores: without gangs both hold resources, and the second runs in part."""
    job = workload("Job", "j", parallelism=3, completions=3)
    given = {"name": "b", "template": job, "arrivals": {"at": [0, 60]}, "duration": "1000s"}
    partial = run(load(given))
    assert sorted(partial.pods["bound"].tolist()) == [0, 0, 0, 60, 1000, 1000]
    gang = run(load({**given, "gang": True}))
    assert sorted(gang.pods["bound"].tolist()) == [0, 0, 0, 1000, 1000, 1000]
    assert gang.summary["unfinished"] == 0
    with pytest.raises(StowplanError, match=r"gang: needs arrivals of Jobs"):
        load({"name": "b", "template": pod("1"), "arrivals": {"at": [0]}, "gang": True})


def test_the_table_of_attempts_and_objectives() -> None:
    given = {"name": "b", "template": pod("3"), "arrivals": {"at": [0, 10, 20]}, "duration": "600s"}
    nodes = {"pools": [pool(count=2, zones={"a": 1, "b": 1})]}
    scenario = load(given, nodes=nodes, record={"attempts": True, "slo": {"wait": "1m", "jct": "15m"}})
    result = run(scenario)
    rows = list(result.tables["attempts"].rows())
    first, second = rows[:2]
    assert (first[1:4], second[1:4]) == (("default/b-1", "scheduled", 2), ("default/b-2", "scheduled", 1))
    assert first[5] is not None
    assert first[5] >= first[6]
    assert second[6] is None
    assert any(row[2] == "unschedulable" and "Insufficient cpu" in row[-1] for row in rows)
    assert result.summary["slo.wait"] == pytest.approx(2 / 3)
    assert result.summary["slo.jct"] == pytest.approx(2 / 3)
    assert "attempts" not in run(load(given, nodes=nodes)).tables


def test_fragmentation_and_skew_worked_out_by_hand() -> None:
    """A pod of 3 on each of two nodes of 4 cores leaves 1 core each, of no use to such pods; in one zone more."""
    given = {"name": "b", "template": pod("3"), "arrivals": {"at": [0, 0]}, "duration": "1h"}
    nodes = {"pools": [pool(count=3, zones={"a": 2, "b": 1})]}
    summary = run(load(given, nodes=nodes, record={"every": "10m"}, until={"time": "30m"}), seed=1).summary
    assert summary["fragmentation.fgd.cpu"] == pytest.approx((1 + 1) / (1 + 1 + 4))
    assert summary["fragmentation.stranded.cpu"] == 0
    assert summary["fragmentation.stranded.memory"] == pytest.approx(2 / 3)
    assert summary["spread.skew"] in (0, 1, 2)


def test_the_spread_of_dominant_shares() -> None:
    given = {"name": "b", "template": pod("1"), "arrivals": {"at": [0, 0, 0]}, "duration": "1h"}
    given["tenant"] = {"choice": {"x": 2, "y": 1}}
    result = run(load(given, record={"every": "10m"}, until={"time": "30m"}), seed=1)
    held = [result.pods["tenant"].tolist().count(tenant) / 4 for tenant in ("x", "y")]
    assert min(held) > 0
    assert result.summary["fairness.drf"] == pytest.approx(max(held) - min(held))


def test_a_series_as_svg_and_png(tmp_path: Path) -> None:
    result = run(load(POISSON), seed=1)
    svg = result.plot("utilisation.cpu", tmp_path / "u.svg").read_text()
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "<script" not in svg
    assert "DejaVu Sans" in svg
    pytest.importorskip("resvg_py")
    assert result.plot("utilisation.cpu", tmp_path / "u.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"no series utilisation.cpus \(did you mean"):
        result.plot("utilisation.cpus", tmp_path / "v.svg")


def test_allocation_against_arrived_load() -> None:
    """Six pods of a quarter of the cluster each, one a minute."""
    arrivals = {"at": [0, "1m", "2m", "3m", "4m", "5m"]}
    given = {"name": "b", "template": pod("1"), "arrivals": arrivals, "duration": "1h"}
    found = run(load(given, until={"time": "30m"})).summary
    loads = {60: 0.75, 90: 1.0, 100: 1.0, 130: 1.0}
    assert {load: found[f"allocation.cpu@{load}"] for load in loads} == pytest.approx(loads)
    found = run(load({**given, "duration": "150s"}, until={"time": "30m"})).summary
    assert found["allocation.cpu@130"] == pytest.approx(0.75)
    found = run(load({**given, "arrivals": {"at": [0, 0]}}, until={"time": "30m"})).summary
    assert not [name for name in found if name.startswith("allocation.cpu")]


def test_finish_time_fairness() -> None:
    """Three jobs that each need the whole cluster, one after the other, of two tenants."""
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0, 0, 0]}, "duration": "10m"}
    tenants = {"tenant": {"choice": {"x": 2, "y": 1}}}
    found = run(load({**given, **tenants}), seed=1, settings=RunSettings(fast_backoff())).summary
    assert found["fairness.ftf.max"] == pytest.approx(3, rel=0.01)
    assert found["fairness.ftf.late"] == pytest.approx(2 / 3)
    assert "fairness.ftf.max" not in run(load(given), seed=1).summary


def test_classes_of_requests_are_bounded() -> None:
    classes = RequestClasses()
    common = {"cpu": 4}
    for number in range(1, 10_000):
        classes.add({"cpu": number + 10})
        classes.add(common)
    assert len(classes._counts) <= 4096
    free = {"cpu": np.array([4.0, 3.0])}
    assert classes.fragmentation(free)["cpu"] < 0.5
    assert classes.stranded("cpu", free) == 0


def test_a_pod_and_a_job_of_one_name_are_two_jobs() -> None:
    once = {"arrivals": {"at": [0]}, "duration": "5m"}
    job = workload("Job", "same", parallelism=2, completions=2)
    named = {**pod(), "metadata": {"name": "same"}}
    result = run(load({**once, "name": "a", "template": named}, {**once, "name": "b", "template": job}))
    assert [row[:2] for row in result.jobs.rows()] == [("default/same-1", "a"), ("default/same-1", "b")]
    assert result.summary["unfinished"] == 0


def test_a_name_that_is_free_while_its_pod_is_created_again() -> None:
    named = {**pod(), "metadata": {"name": "same"}}
    again = {"name": "a", "template": named, "arrivals": {"at": [0]}, "duration": "20m", "resubmit": True}
    later = {"name": "b", "template": named, "arrivals": {"at": ["5m"]}, "duration": "5m"}
    result = run(load(again, later, churn=[{"at": "1m", "delete": {"workload": "a", "count": 1}}]))
    assert [(row[0], row[1], row[4]) for row in result.jobs.rows()] == [
        ("default/same-1", "b", 1), ("default/same-1", "a", 2),
    ]  # fmt: skip


def test_every_metric_takes_exactly_its_qualifiers() -> None:
    """Values that are compared are those that the metric has, never that of a missing quantity."""
    values = {"at": "30m", "over": ["10m", "50m"], "where": {"workload": "batch"}}
    asked = [
        (metric, name, {"metric": metric, name: values[name], "above": -1})
        for metric in known_metrics(["cpu"])
        for name in values
    ]
    given = {**POISSON, "startup": "3s"}
    fields = {"nodes": {"pools": [pool(price=1)]}, "record": {"slo": {"wait": "1m", "jct": "5m"}}}
    taken = [each for metric, name, each in asked if name in qualifiers_of(metric)]
    result = run(load(given, expect=taken, **fields))
    assert [each.text for each in result.expectations if not each.holds] == []
    with pytest.raises(ConfigError) as caught:
        check_expectations(load(given, expect=[each for _, _, each in asked], **fields))
    assert [line.partition(" has no value")[0] for line in caught.value.problems] == [
        f"scenario.yaml: $.expect[{index}].{name}: {metric}"
        for index, (metric, name, _) in enumerate(asked)
        if name not in qualifiers_of(metric)
    ]


@pytest.mark.parametrize("resource", ["alibabacloud.com/gpu-milli", "aliyun.com/gpu-mem", "amd.com/gpu"])
def test_shares_of_gpus_have_values_over_time_headlines_and_charts(resource: str) -> None:
    asking = {"containers": [{"name": "main", "image": "app", "resources": {"limits": {resource: "250"}}}]}
    given = {"name": "infer", "template": pod(), "arrivals": {"at": [0, "30m"]}}
    given["template"] = {**pod(), "spec": asking}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", resource: "1000"}
    nodes = {"pools": [pool(), {"name": "gpus", "count": 1, "template": {"status": {"allocatable": allocatable}}}]}
    result = run(load(given, nodes=nodes))
    assert result.summary[f"utilisation.{resource}"] == pytest.approx(0.375)
    assert result.series_of(f"utilisation.{resource}")[1][::40] == [0.25, 0.5]
    assert {name.partition(f".{resource}")[0] for name in result.summary if name.endswith(resource)} == {
        "utilisation", "imbalance", "fragmentation.fgd", "fragmentation.stranded", "fragmentation.largest",
    }  # fmt: skip
    assert (f"utilisation.{resource}", "0.375") in summary_rows(result, everything=False)
    assert f'aria-label="utilisation.{resource}"' in result_page([result])
    shown = compare_results({"a": [result], "b": [result]}, "a").metrics
    assert f"utilisation.{resource}" in [each.metric for each in shown]
