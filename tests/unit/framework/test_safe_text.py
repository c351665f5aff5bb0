from __future__ import annotations

import asyncio

import pytest

from stowplan.framework.safe_text import raised, shown


class Mute(Exception):
    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    def __str__(self) -> str:
        raise self.problem

    __repr__ = __str__


def test_values_are_shown_as_python_writes_them() -> None:
    assert shown("5s") == "'5s'"


def test_long_ones_are_cut() -> None:
    assert shown("x" * 1000) == "'" + "x" * 99


def test_exceptions_are_told_with_their_type() -> None:
    assert raised(ValueError("boom")) == "raised ValueError: boom"


@pytest.mark.parametrize("problem", [AttributeError("name"), SystemExit(1), asyncio.CancelledError()], ids=type)
def test_what_cannot_be_shown_is_named(problem: BaseException) -> None:
    assert shown(Mute(problem)) == "(a value of type Mute that cannot be shown)"
    assert raised(Mute(problem)) == "raised Mute: (no text)"


def test_numbers_with_more_digits_than_python_writes_are_named_too() -> None:
    assert shown(10**5000) == "(a value of type int that cannot be shown)"


def test_interrupts_get_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        shown(Mute(KeyboardInterrupt()))
