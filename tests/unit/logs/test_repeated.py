from __future__ import annotations

import logging

import pytest

from stowplan import logs


def test_one_line_in_ten_seconds_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    warn = logs.RepeatedWarning(logs.get("repeated"), "It failed", clock=lambda: now)
    with caplog.at_level(logging.WARNING):
        for now in (0.0, 1.0, 9.9, 10.0, 10.1, 30.0):
            warn(err=f"at {now}")
    assert [record.getMessage() for record in caplog.records] == [
        "It failed: at 0.0 (count=1)",
        "It failed: at 10.0 (count=3)",
        "It failed: at 30.0 (count=2)",
    ]
