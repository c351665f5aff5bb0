"""Limits by verb, and asking twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.config.extender_limits import ExtenderLimits, hedged


@pytest.mark.parametrize(
    ("verb", "http_timeout", "limit"),
    [("filter", 5.0, 0.5), ("filter", 0.1, 0.1), ("filter", None, 0.5), ("bind", 5.0, 5.0), ("bind", None, None)],
)
def test_the_shorter_of_two_limits(verb: Any, http_timeout: float | None, limit: float | None) -> None:
    assert ExtenderLimits({"filter": 0.5}).timeout(verb, http_timeout) == limit


NEVER = 9


def asking(*answers: tuple[int, str]) -> tuple[list[int], Callable[[], Coroutine[Any, Any, str]]]:
    """What answers one question after the other, each when so many were asked or answered; those with a "!" fail."""
    asked, answered = list[int](), list[str]()

    async def ask() -> str:
        least, answer = answers[len(asked)]
        asked.append(len(asked))
        while len(asked) + len(answered) < least:
            await asyncio.sleep(0.001)
        answered.append(answer)
        if answer.endswith("!"):
            raise ConnectionError(answer)
        return answer

    return asked, ask


@pytest.mark.parametrize(
    ("answers", "heard", "times"),
    [
        ([(1, "at once")], "at once", 1),
        ([(NEVER, "never"), (2, "the second")], "the second", 2),
        ([(2, "the first"), (NEVER, "never")], "the first", 2),
        ([(2, "lost!"), (3, "the second")], "the second", 2),
    ],
)
def test_whoever_answers_first_is_heard(answers: list[tuple[int, str]], heard: str, times: int) -> None:
    asked, ask = asking(*answers)
    assert asyncio.run(hedged(ask, 0.03)) == heard
    assert len(asked) == times


@pytest.mark.parametrize("answers", [[(1, "lost!")], [(2, "lost!"), (3, "lost again!")]])
def test_nobody_answers(answers: list[tuple[int, str]]) -> None:
    _, ask = asking(*answers)
    with pytest.raises(ConnectionError, match="lost"):
        asyncio.run(hedged(ask, 0.02))
