import pytest

from stowplan.bench.cluster.attempts import attempt_quantile


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
