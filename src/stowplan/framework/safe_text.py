"""Texts for exceptions and values of out-of-tree code, whose `__repr__` and `__str__` may themselves fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def shown(value: object) -> str:
    """The `repr` of a value, cut to 100 characters."""
    return _text(repr, value, f"(a value of type {type(value).__name__} that cannot be shown)")[:100]


def raised(problem: BaseException) -> str:
    """A phrase for an exception, such as `raised ValueError: text`."""
    return f"raised {type(problem).__name__}: {_text(str, problem, '(no text)')}"


def _text(how: Callable[[Any], str], value: object, otherwise: str) -> str:
    try:
        return how(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise
