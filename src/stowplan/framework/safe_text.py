"""Words for what is not ours: exceptions and values of users' code, which may fail even at being shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def shown(value: object) -> str:
    """A value as Python would write it, or the beginning of that."""
    return _text(repr, value, f"(a value of type {type(value).__name__} that cannot be shown)")[:100]


def raised(problem: BaseException) -> str:
    """What is to be said of whoever raised something."""
    return f"raised {type(problem).__name__}: {_text(str, problem, '(it cannot say what)')}"


def _text(how: Callable[[Any], str], value: object, otherwise: str) -> str:
    try:
        return how(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise
