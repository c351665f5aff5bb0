from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stowplan.errors import InputError
from stowplan.study import ResultTable, RunResult
from stowplan.study.compare import FailRule, as_document, bootstrap, compare_results
from stowplan.study.compare_texts import comparison_rows, html, junit, latex, markdown, placement_lines
from stowplan.study.metric_value import MetricValue
from stowplan.study.recording import POD_COLUMNS

SEEDS = range(1, 9)


def result(seed: int, node: str = "n1", **metrics: float) -> RunResult:
    pods = ResultTable("pods", POD_COLUMNS)
    row: dict[str, Any] = {"pod": "default/a-1", "node": node, "bound": 5.0, "waited_s": 1.0}
    pods.append(tuple(row.get(name) for name in POD_COLUMNS))
    tables = {"pods": pods, **{name: ResultTable(name, ("jct_s",)) for name in ("jobs", "nodes", "events")}}
    tables["series"] = ResultTable("series", ("time", "metric", "key", "value"))
    for time in (0.0, 60.0):
        tables["series"].append((time, "pending", "", 1.0))
    values = tuple(MetricValue(name.replace("_", "."), "", value, "s") for name, value in metrics.items())
    return RunResult("test", seed, "0", "", 60.0, "", values, tables)


def pairs(change: float, noise: float = 1.0) -> dict[str, list[RunResult]]:
    """Runs whose waits differ by `change` and some noise, while the seeds differ by much more."""
    return {
        "a": [result(seed, wait_mean=100.0 * seed) for seed in SEEDS],
        "b": [result(seed, "n2", wait_mean=100.0 * seed + change + noise * math.sin(seed)) for seed in SEEDS],
    }


@pytest.mark.parametrize(("change", "verdict"), [(-10.0, "better"), (10.0, "worse"), (0.0, "same")])
def test_differences_are_paired_by_seed(change: float, verdict: str) -> None:
    (metric,) = compare_results(pairs(change), "a").metrics
    (found,) = metric.differences
    assert found.verdict == verdict
    assert found.low <= found.mean <= found.high
    assert found.mean == pytest.approx(change, abs=1)


def test_differences_of_rounding_are_none() -> None:
    runs = {
        "a": [result(seed, wait_mean=0.1 + 0.2) for seed in SEEDS],
        "b": [result(seed, wait_mean=0.3) for seed in SEEDS],
    }
    (found,) = compare_results(runs, "a").metrics[0].differences
    assert (found.mean, found.verdict) == (0.0, "same")


def test_one_seed_has_neither_intervals_nor_verdicts() -> None:
    one = {name: runs[:1] for name, runs in pairs(10.0).items()}
    (metric,) = as_document(compare_results(one, "a"))["metrics"]
    (found,) = metric["differences"]
    assert found["mean"] == pytest.approx(10, abs=1)
    assert (found["low"], found["high"], found["p"], found["verdict"]) == (None, None, None, "")
    assert set(metric["errors"].values()) == {None}


def test_holms_correction_makes_verdicts_of_many_configurations_stricter() -> None:
    base = pairs(0.0)["a"]
    shifted = [result(seed, wait_mean=100.0 * seed + (4 if seed < 8 else -4)) for seed in SEEDS]
    one = compare_results({"a": base, "b": shifted}, "a").metrics[0].differences[0]
    same = {f"c{number}": pairs(0.0)["b"] for number in range(30)}
    many = compare_results({"a": base, "b": shifted, **same}, "a").metrics[0].differences[0]
    assert one.low == many.low
    assert (one.verdict, many.verdict) == ("worse", "same")


def test_intervals_do_not_depend_on_anything_but_the_values() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert bootstrap(values, "x") == bootstrap(values, "x")
    assert bootstrap(np.array([2.0, 2.0]), "x") == (2.0, 2.0, 0.0)
    assert math.isnan(bootstrap(np.array([math.nan]), "x")[0])


def test_the_table() -> None:
    comparison = compare_results(pairs(10.0), "a")
    rows = comparison_rows(comparison)
    assert rows[0] == ["METRIC", "a", "b", "DIFFERENCE (95 %)", ""]
    assert rows[1][0] == "wait.mean"
    assert rows[1][3].startswith("+10")
    assert rows[1][4] == "worse"
    assert placement_lines(comparison) == [
        "b: 100.0% of 8 pods are placed elsewhere; first at 5s with seed 1: pod default/a-1"
    ]


def test_other_forms() -> None:
    comparison = compare_results(pairs(10.0), "a")
    assert markdown(comparison).splitlines()[1] == "|---|---|---|---|---|"
    assert r"\toprule" in latex(comparison)
    assert "<svg" in html(comparison)
    assert 'class="worse"' in html(comparison)
    assert 'failures="1"' in junit(comparison, [])
    assert as_document(comparison)["metrics"][0]["differences"][0]["verdict"] == "worse"


def test_rules() -> None:
    comparison = compare_results(pairs(10.0), "a")
    assert FailRule.parse("wait.mean worse 1%").broken_by(comparison) == ["b: wait.mean is 2.3% worse"]
    assert FailRule.parse("wait.mean worse 5%").broken_by(comparison) == []
    for wrong in ("wait.mean", "wait.mean better 5%", "wait.mean worse much"):
        with pytest.raises(InputError, match="--fail-if"):
            FailRule.parse(wrong)
    with pytest.raises(InputError, match="is not compared"):
        FailRule.parse("jct.mean worse 5%").broken_by(comparison)


def test_unusable_input() -> None:
    with pytest.raises(InputError, match="no such configuration"):
        compare_results(pairs(0.0), "c")
    with pytest.raises(InputError, match=r"unknown metric wait.meen \(did you mean"):
        compare_results(pairs(0.0), "a", ["wait.meen"])
    runs = pairs(0.0)
    with pytest.raises(InputError, match="same seeds"):
        compare_results({"a": runs["a"], "b": runs["b"][1:]}, "a")
