"""The deadline of the request that is being answered."""

from __future__ import annotations

from contextvars import ContextVar
from time import monotonic

deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When the reply is due, by the monotonic clock; None without a limit."""


def remaining() -> float | None:
    """Seconds until a fallback is sent instead of the plugin's or function's result; None without a limit.

    A later result is discarded.
    """
    limit = deadline.get()
    return None if limit is None else limit - monotonic()
