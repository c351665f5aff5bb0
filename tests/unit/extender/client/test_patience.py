"""Limits by verb, and asking twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.extender.client.patience import Patience, hedged


@pytest.mark.parametrize(
    ("verb", "http_timeout", "limit"),
    [("filter", 5.0, 0.5), ("filter", 0.1, 0.1), ("filter", None, 0.5), ("bind", 5.0, 5.0), ("bind", None, None)],
)
def test_the_shorter_of_two_limits(verb: Any, http_timeout: float | None, limit: float | None) -> None:
    assert Patience({"filter": 0.5}).timeout(verb, http_timeout) == limit


def asking(*answers: tuple[float, str]) -> tuple[list[int], Callable[[], Coroutine[Any, Any, str]]]:
    """What answers one question after the other, each after some seconds; those with a "!" fail."""
    asked: list[int] = []

    async def ask() -> str:
        seconds, answer = answers[len(asked)]
        asked.append(len(asked))
        await asyncio.sleep(seconds)
        if answer.endswith("!"):
            raise ConnectionError(answer)
        return answer

    return asked, ask


@pytest.mark.parametrize(
    ("answers", "heard", "times"),
    [
        ([(0.0, "at once")], "at once", 1),
        ([(60.0, "never"), (0.0, "the second")], "the second", 2),
        ([(0.1, "the first"), (60.0, "never")], "the first", 2),
        ([(0.1, "lost!"), (0.2, "the second")], "the second", 2),
    ],
)
def test_whoever_answers_first_is_heard(answers: list[tuple[float, str]], heard: str, times: int) -> None:
    asked, ask = asking(*answers)
    assert asyncio.run(hedged(ask, 0.03)) == heard
    assert len(asked) == times


@pytest.mark.parametrize("answers", [[(0.0, "lost!")], [(0.05, "lost!"), (0.05, "lost again!")]])
def test_nobody_answers(answers: list[tuple[float, str]]) -> None:
    _, ask = asking(*answers)
    with pytest.raises(ConnectionError, match="lost"):
        asyncio.run(hedged(ask, 0.02))
