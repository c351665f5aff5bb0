"""Time limits of extender calls in addition to `httpTimeout`, and hedged calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from stowplan.framework.extender import ExtenderVerb

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExtenderLimits:
    """Limits for all extenders. The defaults add none, as in kube-scheduler."""

    timeouts: Mapping[ExtenderVerb, float] = field(default_factory=dict)
    """Seconds by verb, if less than the entry's httpTimeout."""
    hedge_after: float = 0.0
    """Seconds after which an idempotent call is sent a second time; the first reply wins. Zero disables it."""

    def timeout(self, verb: ExtenderVerb, http_timeout: float | None) -> float | None:
        limits = [limit for limit in (self.timeouts.get(verb), http_timeout) if limit is not None]
        return min(limits, default=None)


async def hedged(call: Callable[[], Awaitable[T]], after: float) -> T:
    """Call, and call again without a result after `after` seconds. Fails only if both calls fail."""
    tasks = {asyncio.ensure_future(call())}
    try:
        done, pending = await asyncio.wait(tasks, timeout=after)
        if pending:
            tasks.add(asyncio.ensure_future(call()))
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if pending and all(task.exception() for task in done):
                done, pending = await asyncio.wait(pending)
        return next((task for task in done if not task.exception()), next(iter(done))).result()
    finally:
        for task in tasks:
            task.cancel()
