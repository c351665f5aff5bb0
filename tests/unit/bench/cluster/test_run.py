import os

import pytest
from tests.unit.bench.cluster.samples import figures

from stowplan.bench.cluster.run import Reading, attempt_quantile, median_of, rates, unschedulable_attempts


def test_rates_end_with_the_last_write() -> None:
    cores = os.cpu_count() or 1
    first = Reading(at=100.0, cpu=1.0, plane_cpu=10.0, machine_cpu=50.0)
    last = Reading(at=104.0, cpu=1.2, plane_cpu=12.0, machine_cpu=55.0)
    end = Reading(at=105.0, cpu=1.5, plane_cpu=13.0, machine_cpu=55.5)
    assert rates(1000, first, last, end) == pytest.approx(
        {
            "per_second": 200.0,
            "binds_per_second": 250.0,
            "cpu_us_per_pod": 500.0,
            "control_plane_us_per_pod": 3000.0,
            "others_cpu_share": 2.0 / 5.0 / cores,
        }
    )


def test_one_pod_takes_some_time() -> None:
    moment = Reading(1.0, 1.0, 1.0, 1.0)
    assert rates(1, moment, moment, moment)["per_second"] == 20


def test_the_median_of_each_figure() -> None:
    rounds = [figures(per_second=rate, p50_us=p50) for rate, p50 in ((300.0, None), (100.0, 5.0), (200.0, 7.0))]
    assert median_of(rounds) == figures(per_second=200.0, p50_us=6.0)


def samples(*buckets: tuple[str, float], result: str = "scheduled") -> dict[str, float]:
    name = 'scheduler_scheduling_attempt_duration_seconds_bucket{profile="p",result="%s",le="%s"}'
    return {name % (result, edge): count for edge, count in buckets}


SOME = samples(("0.001", 0), ("0.002", 60), ("0.004", 100), ("+Inf", 100))


@pytest.mark.parametrize(("share", "seconds"), [(0.3, 0.0015), (0.6, 0.002), (0.8, 0.003), (1.0, 0.004)])
def test_attempts_spread_evenly_within_buckets(share: float, seconds: float) -> None:
    assert attempt_quantile(SOME, share) == pytest.approx(seconds)


def test_profiles_count_together_and_failures_do_not() -> None:
    other = {name.replace('"p"', '"q"'): count for name, count in SOME.items()}
    failed = samples(("0.001", 9), ("+Inf", 9000), result="unschedulable")
    assert attempt_quantile(SOME | other | failed | {"go_goroutines": 7.0}, 0.3) == pytest.approx(0.0015)


def test_beyond_the_last_bucket_is_its_edge() -> None:
    assert attempt_quantile(samples(("0.001", 10), ("+Inf", 100)), 0.99) == 0.001


@pytest.mark.parametrize("none", [{}, samples(("0.001", 0), ("+Inf", 0))])
def test_without_attempts_there_is_nothing_to_tell(none: dict[str, float]) -> None:
    assert attempt_quantile(none, 0.5) is None


def test_unschedulable_attempts_of_all_profiles() -> None:
    name = 'scheduler_schedule_attempts_total{profile="%s",result="%s"}'
    found = {name % ("a", "unschedulable"): 3.0, name % ("b", "unschedulable"): 4.0, name % ("a", "scheduled"): 9.0}
    assert unschedulable_attempts(found) == 7
    assert unschedulable_attempts({}) == 0
