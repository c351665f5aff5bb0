"""How long an extender may take, beyond what its entry in the configuration says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from stowplan.framework.extender import ExtenderVerb

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExtenderLimits:
    """The same for all extenders; kube-scheduler's own unless somebody says otherwise."""

    timeouts: Mapping[ExtenderVerb, float] = field(default_factory=dict)
    """Seconds by verb, where that is less than the entry's httpTimeout."""
    hedge_after: float = 0.0
    """Seconds after which a question that may be repeated is asked a second time; whoever answers first is heard."""

    def timeout(self, verb: ExtenderVerb, http_timeout: float | None) -> float | None:
        limits = [limit for limit in (self.timeouts.get(verb), http_timeout) if limit is not None]
        return min(limits, default=None)


async def hedged(ask: Callable[[], Awaitable[T]], after: float) -> T:
    """Ask, and ask again if there is no answer after so many seconds. One failure is not the end while the other may
    still succeed."""
    asked = {asyncio.ensure_future(ask())}
    try:
        done, pending = await asyncio.wait(asked, timeout=after)
        if pending:
            asked.add(asyncio.ensure_future(ask()))
            done, pending = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            if pending and all(task.exception() for task in done):
                done, pending = await asyncio.wait(pending)
        return next((task for task in done if not task.exception()), next(iter(done))).result()
    finally:
        for task in asked:
            task.cancel()
