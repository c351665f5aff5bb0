import logging

import pytest

from stowplan.cluster.failure_log import FailureLog


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
