"""Waiting for something that another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

from stowplan.testing.errors import NotInTimeError

T = TypeVar("T")


def wait_until(check: Callable[[], T], *, timeout: float = 60.0, every: float = 0.05, what: str = "") -> T:
    """Call `check` until it returns a true value, and return it. `what` describes the condition in errors."""
    deadline = time.monotonic() + timeout
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() >= deadline:
            awaited = what or getattr(check, "__name__", "the condition")
            raise NotInTimeError(f"waited {timeout:g} s for {awaited}; the last answer was {result!r}")
        time.sleep(every)
