import logging
import random

import pytest

from stowplan.cluster.retry import FailureLog, RetryBackoff


class _Steady(random.Random):
    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


@pytest.mark.parametrize(
    ("roll", "expected"),
    [(0.0, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]), (0.5, [1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45, 45])],
)
def test_waits_double_up_to_a_limit_and_are_stretched(roll: float, expected: list[float]) -> None:
    backoff = RetryBackoff(lambda: 0.0, _Steady(roll))
    assert [backoff.next() for _ in range(8)] == pytest.approx(expected)


def test_after_some_quiet_waits_are_short_again() -> None:
    now = 0.0
    backoff = RetryBackoff(lambda: now, _Steady(0.0))
    backoff.next()
    backoff.next()
    now = 120.0
    assert backoff.next() == pytest.approx(3.2)
    now = 240.5
    assert backoff.next() == pytest.approx(0.8)


def test_a_failure_is_logged_once_reminded_of_and_called_over(caplog: pytest.LogCaptureFixture) -> None:
    times = iter((0.0, 10.0, 59.0, 61.0, 62.0))
    reports = FailureLog(lambda: next(times), resource="nodes")
    with caplog.at_level(logging.INFO, "stowplan.cluster"):
        for _ in range(4):
            reports.failed("list", ValueError("down"))
        reports.failed("list", ValueError("still down"))
        reports.works("list")
        reports.works("list")
        reports.works("watch")
    assert caplog.messages == [
        "Failed to list: down (resource=nodes)",
        "Failed to list: down (resource=nodes)",
        "Failed to list: still down (resource=nodes)",
        "Succeeded to list again (resource=nodes)",
    ]


def test_verbs_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    reports = FailureLog(lambda: 0.0, resource="nodes")
    reports.failed("list", ValueError("down"))
    reports.failed("watch", ValueError("down"))
    reports.failed("list", ValueError("down"))
    assert caplog.messages == ["Failed to list: down (resource=nodes)", "Failed to watch: down (resource=nodes)"]
