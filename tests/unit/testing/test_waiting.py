"""Waiting."""

import pytest

from stowplan.testing.errors import NotInTimeError
from stowplan.testing.waiting import wait_until


def test_returns_the_first_true_answer() -> None:
    answers = iter([0, None, [], "here", "later"])
    assert wait_until(lambda: next(answers), every=0) == "here"


def test_gives_up_with_the_last_answer() -> None:
    with pytest.raises(NotInTimeError, match=r"waited 0\.02 s for the pods; the last answer was \[\]"):
        wait_until(lambda: [], timeout=0.02, every=0.001, what="the pods")


def test_asks_once_even_without_time() -> None:
    assert wait_until(lambda: 1, timeout=0) == 1
