import logging

import pytest

from stowplan.cluster.failure_log import FailureLog


def test_a_failure_is_logged_once_reminded_of_and_called_over(caplog: pytest.LogCaptureFixture) -> None:
    times = iter((0.0, 10.0, 59.0, 61.0, 62.0))
    reports = FailureLog("nodes", lambda: next(times))
    with caplog.at_level(logging.INFO, "stowplan.cluster"):
        for _ in range(4):
            reports.failed("list", ValueError("down"))
        reports.failed("list", ValueError("still down"))
        reports.works("list")
        reports.works("list")
        reports.works("watch")
    assert caplog.messages == [
        "Failed to list nodes: down",
        "Failed to list nodes: down",
        "Failed to list nodes: still down",
        "It works again to list nodes",
    ]


def test_verbs_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    reports = FailureLog("nodes", lambda: 0.0)
    reports.failed("list", ValueError("down"))
    reports.failed("watch", ValueError("down"))
    reports.failed("list", ValueError("down"))
    assert caplog.messages == ["Failed to list nodes: down", "Failed to watch nodes: down"]
