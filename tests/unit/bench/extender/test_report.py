"""What a comparison says, and whether two answers are the same."""

import json

import pytest

from stowplan.bench.extender.reply_comparison import differences
from stowplan.bench.extender.report import ExtenderReport, figures
from stowplan.bench.result import Comparison


def test_figures() -> None:
    found = figures([0.001 * number for number in range(1, 101)], 0.5, 42.0)
    assert found.p50_us == pytest.approx(50_000)
    assert found.p99_us == pytest.approx(99_000)
    assert found.cpu_us_per_pod == pytest.approx(5000)
    assert found.per_second == pytest.approx(100 / 5.05)


def test_a_report_as_json() -> None:
    ours, theirs = figures([0.001], 0.001, 10.0), figures([0.004], 0.002, 20.0)
    verdict = Comparison(bar="fast", measured=0.25, met=True)
    report = ExtenderReport(
        scenario="x",
        nodes=5,
        pods=1,
        calibration_s=1.0,
        figures=ours,
        peers={"go": theirs},
        compared=3,
        disagreements=["one"],
        comparisons=[verdict],
    )
    told = json.loads(report.to_json())
    assert told["ratios"]["go"] == {
        "per_second": 4.0,
        "cpu_us_per_pod": 0.5,
        "p50_us": 0.25,
        "p99_us": 0.25,
        "rss_mib": 0.5,
    }
    assert (told["compared"], told["agreed"]) == (3, 2)
    assert told["bars"] == [{"bar": "fast", "measured": 0.25, "met": True}]
    assert {"scenario", "nodes", "pods", "per_second", "p50_us", "p99_us", "rss_mib", "calibration_s"} <= set(told)


def answer(**more: object) -> bytes:
    empty: dict[str, object] = {
        "Nodes": None,
        "NodeNames": None,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    return json.dumps(empty | more).encode()


def test_answers_are_compared_by_what_they_say() -> None:
    same = answer(FailedNodes=None, Nodes={"items": [{"metadata": {"name": "a", "x": None}, "spec": {}}]})
    assert differences("filter", answer(Nodes={"metadata": {}, "items": [{"metadata": {"name": "a"}}]}), same) == []
    assert "FailedNodes" in differences("filter", answer(FailedNodes={"a": "x"}), answer())[0]
    assert "names of nodes" in differences("filter", answer(NodeNames=["a"]), answer(NodeNames=["b"]))[0]
    assert "nodes" in differences("filter", answer(Nodes={"items": []}), answer())[0]


def test_scores_are_compared_in_order() -> None:
    scores = [{"Host": "a", "Score": 1}, {"Host": "b", "Score": 2}]
    assert differences("prioritize", json.dumps(scores).encode(), json.dumps(scores).encode()) == []
    assert differences("prioritize", json.dumps(scores).encode(), json.dumps(scores[::-1]).encode())
