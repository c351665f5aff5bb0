from __future__ import annotations

import asyncio
import sys

import pytest

from stowplan.serving.event_loop import run_on_fastest_loop


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_uvloop_where_there_is_one() -> None:
    assert run_on_fastest_loop(loop_module()).startswith("asyncio" if sys.platform == "win32" else "uvloop")


def test_asyncio_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert run_on_fastest_loop(loop_module()).startswith("asyncio")
