"""The event loop of a process: uvloop, or asyncio's own on Windows, where there is no uvloop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_fastest_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new event loop."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)
