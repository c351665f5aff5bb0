"""Fixtures of the tests with recorded verdicts."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def without_cycle_collector() -> Iterator[None]:
    """Cases are made and dropped by the thousand; looking for reference cycles among them doubles the time."""
    gc.disable()
    yield
    gc.enable()
