"""Exceptions and values of out-of-tree code, whose `__repr__` and `__str__` may themselves fail.

Such code may raise any exception, also one that usually ends a program or a task. All are failures of that code.
"""

from __future__ import annotations

import signal
import sysconfig
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parents[1])
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def shown(value: object) -> str:
    """The `repr` of a value, cut to 100 characters."""
    return _text(repr, value, f"(a value of type {type(value).__name__} that cannot be shown)")[:100]


def raised(problem: BaseException) -> str:
    """A phrase for an exception, such as `raised ValueError: text (rack_care.py:12)`."""
    where = origin(problem)
    return f"raised {type(problem).__name__}: {_text(str, problem, '(no text)')}{where and f' ({where})'}"


def origin(problem: BaseException) -> str:
    """`file:line` in the out-of-tree code that an exception comes from; empty if it comes from elsewhere.

    That is the last line in the file which this package called: code of libraries below it is of less use.
    """
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(problem.__traceback__)]
    own = [entry for entry in frames if not _is_known(entry[0])]
    if not own:
        return ""
    return place(*[entry for entry in own if entry[0] == own[0][0]][-1])


def _is_known(file: str) -> bool:
    """Whether a file belongs to this package or to the standard library, whose folder also has installed packages."""
    return file.startswith((_PACKAGE, "<frozen ")) or (
        file.startswith(_STANDARD_LIBRARY) and "-packages" not in file[len(_STANDARD_LIBRARY) :]
    )


def place(file: str, line: int) -> str:
    """`file:line`, relative to the working directory, or with the last folder of a file elsewhere."""
    path = Path(file)
    with suppress(OSError, ValueError):
        return f"{path.relative_to(Path.cwd())}:{line}"
    return f"{'/'.join(path.parts[-2:])}:{line}"


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
