"""Time limits by verb."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config.extender_limits import ExtenderLimits


@pytest.mark.parametrize(
    ("verb", "http_timeout", "limit"),
    [("filter", 5.0, 0.5), ("filter", 0.1, 0.1), ("filter", None, 0.5), ("bind", 5.0, 5.0), ("bind", None, None)],
)
def test_the_shorter_of_two_limits(verb: Any, http_timeout: float | None, limit: float | None) -> None:
    assert ExtenderLimits({"filter": 0.5}).timeout(verb, http_timeout) == limit
