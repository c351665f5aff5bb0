"""Waiting for what other threads and tasks do."""

import asyncio
from collections.abc import Callable

TIMEOUT_SECONDS = 60.0


async def until(condition: Callable[[], object], timeout: float = TIMEOUT_SECONDS) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(timeout):
        while not condition():
            await asyncio.sleep(0.001)
