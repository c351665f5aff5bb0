"""Hedged calls: a slow call is sent a second time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


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
