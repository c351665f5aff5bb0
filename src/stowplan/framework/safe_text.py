"""Exceptions and values of out-of-tree code, whose `__repr__` and `__str__` may themselves fail.

Such code may raise any exception, also one that usually ends a program or a task. All are failures of that code.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


def shown(value: object) -> str:
    """The `repr` of a value, cut to 100 characters."""
    return _text(repr, value, f"(a value of type {type(value).__name__} that cannot be shown)")[:100]


def raised(problem: BaseException) -> str:
    """A phrase for an exception, such as `raised ValueError: text`."""
    return f"raised {type(problem).__name__}: {_text(str, problem, '(no text)')}"


def is_user_interrupt(problem: BaseException) -> bool:
    """Whether an exception out of a plugin may come from the user's Ctrl-C instead.

    Servers handle SIGINT themselves, so a KeyboardInterrupt there is the plugin's own.
    """
    return (
        isinstance(problem, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def _text(how: Callable[[Any], str], value: object, otherwise: str) -> str:
    try:
        return how(value)
    except BaseException as problem:
        if is_user_interrupt(problem):
            raise
        return otherwise
