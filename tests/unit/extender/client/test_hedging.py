"""A slow call is sent a second time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.extender.client.hedging import hedged

NEVER = 9


def replying(*replies: tuple[int, str]) -> tuple[list[int], Callable[[], Coroutine[Any, Any, str]]]:
    """The calls, and a function that replies in order: each when so many calls were begun or ended; "!" fails."""
    calls, ended = list[int](), list[str]()

    async def call() -> str:
        least, reply = replies[len(calls)]
        calls.append(len(calls))
        while len(calls) + len(ended) < least:
            await asyncio.sleep(0.001)
        ended.append(reply)
        if reply.endswith("!"):
            raise ConnectionError(reply)
        return reply

    return calls, call


@pytest.mark.parametrize(
    ("replies", "result", "times"),
    [
        ([(1, "at once")], "at once", 1),
        ([(NEVER, "never"), (2, "the second")], "the second", 2),
        ([(2, "the first"), (NEVER, "never")], "the first", 2),
        ([(2, "lost!"), (3, "the second")], "the second", 2),
    ],
)
def test_the_first_reply_is_returned(replies: list[tuple[int, str]], result: str, times: int) -> None:
    calls, call = replying(*replies)
    assert asyncio.run(hedged(call, 0.03)) == result
    assert len(calls) == times


@pytest.mark.parametrize("replies", [[(1, "lost!")], [(2, "lost!"), (3, "lost again!")]])
def test_both_calls_fail(replies: list[tuple[int, str]]) -> None:
    _, call = replying(*replies)
    with pytest.raises(ConnectionError, match="lost"):
        asyncio.run(hedged(call, 0.02))
