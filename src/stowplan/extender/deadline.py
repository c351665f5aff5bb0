"""How much time is left for the request that is being answered."""

from __future__ import annotations

from contextvars import ContextVar
from time import monotonic

deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When the answer has to leave, by the monotonic clock; None where nobody waits for it."""


def remaining() -> float | None:
    """Seconds that a plugin or function has left before a fallback answer is given in its place.

    None where there is no limit. Work that would take longer had better be left out: its result is thrown away.
    """
    limit = deadline.get()
    return None if limit is None else limit - monotonic()
