import json

import msgspec
import pytest
from tests.unit.bench.cluster.samples import figures, report

from stowplan.bench.cluster.report import compare_with_bars
from stowplan.bench.cluster.workload import Bars

KUBE = figures(per_second=160.0, cpu=3000.0, rss_mib=300.0)
UPPER_BOUND = figures(per_second=500.0, cpu=180.0)


def test_json_is_one_line_with_the_fields_of_the_contract() -> None:
    line = report(Bars(per_second=2), kube_scheduler=KUBE, ceiling=UPPER_BOUND).to_json()
    assert b"\n" not in line
    told = json.loads(line)
    own = {name: told[name] for name in ("scenario", "nodes", "pods", "per_second", "cpu_us_per_pod", "calibration_s")}
    assert own == {
        "scenario": "basic",
        "nodes": 5000,
        "pods": 5000,
        "per_second": 400.0,
        "cpu_us_per_pod": 300.0,
        "calibration_s": 0.123,
    }
    assert (told["p50_us"], told["p99_us"], told["rss_mib"], told["first_bind_s"]) == (1500.0, None, 150.0, 2.25)
    assert told["peers"]["kube-scheduler"]["per_second"] == 160.0
    assert told["ratios"]["kube-scheduler"] == {
        "per_second": 2.5,
        "cpu_us_per_pod": 0.1,
        "rss_mib": 0.5,
    }
    assert told["ratios"]["ceiling"]["per_second"] == 0.8
    assert told["bars"] == [{"bar": "per_second at least 2 of kube-scheduler's", "measured": 2.5, "met": True}]


@pytest.mark.parametrize(
    ("bars", "told"),
    [
        (Bars(), []),
        (Bars(per_second=2.5), [("per_second at least 2.5 of kube-scheduler's", 2.5, True)]),
        (Bars(per_second=3), [("per_second at least 3 of kube-scheduler's", 2.5, False)]),
        (
            Bars(per_second=3, of_upper_bound=0.8),
            [("per_second at least 3 of kube-scheduler's, or 0.8 of the ceiling's", 0.8, True)],
        ),
        (
            Bars(per_second=3, of_upper_bound=0.81),
            [("per_second at least 3 of kube-scheduler's, or 0.81 of the ceiling's", 2.5, False)],
        ),
        (Bars(cpu_us_per_pod=0.1), [("cpu_us_per_pod at most 0.1 of kube-scheduler's", 0.1, True)]),
        (Bars(rss_mib=0.4), [("rss_mib at most 0.4 of kube-scheduler's", 0.5, False)]),
        (Bars(first_bind_s=2), [("first bind within 2 s of start", 2.25, False)]),
        (Bars(idle_cpu_share=0.02), [("idle at most 0.02 of a CPU", 0.01, True)]),
        (Bars(idle_cpu_share=0.005), [("idle at most 0.005 of a CPU", 0.01, False)]),
    ],
)
def test_bars_are_met_or_not(bars: Bars, told: list[tuple[str, float, bool]]) -> None:
    comparisons = report(bars, kube_scheduler=KUBE, ceiling=UPPER_BOUND).comparisons
    assert [(verdict.bar, verdict.measured, verdict.met) for verdict in comparisons] == [
        (bar, pytest.approx(measured), met) for bar, measured, met in told
    ]


def test_attempts_and_victims_are_compared_where_a_bar_asks_for_it() -> None:
    kube = figures(unschedulable_attempts=100, victims=300)
    bars = Bars(unschedulable_attempts=1.1, victims=1)
    compared = msgspec.structs.replace(
        report(bars, kube_scheduler=kube), figures=figures(unschedulable_attempts=150, victims=300)
    )
    assert [(verdict.bar, verdict.measured, verdict.met) for verdict in compared.comparisons] == [
        ("unschedulable_attempts at most 1.1 of kube-scheduler's", 1.5, False),
        ("victims at most 1 of kube-scheduler's", 1.0, True),
    ]
    assert "victims" not in report(Bars(), kube_scheduler=kube).ratios["kube-scheduler"]


def test_without_a_peer_there_is_no_verdict() -> None:
    bars = Bars(per_second=2, of_upper_bound=0.8, cpu_us_per_pod=0.1, first_bind_s=3)
    assert [verdict.bar for verdict in compare_with_bars(bars, figures(), {})] == ["first bind within 3 s of start"]
    alone = report(Bars(per_second=3, of_upper_bound=0.1), kube_scheduler=KUBE)
    assert [verdict.met for verdict in alone.comparisons] == [False]


def test_a_peer_that_took_no_measurable_time_is_no_division_by_zero() -> None:
    assert report(Bars(), ceiling=figures(cpu=0.0)).ratios["ceiling"]["cpu_us_per_pod"] > 1000
