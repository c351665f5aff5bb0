"""Saying what happens: a voice for each module, as loud as the flags ask.

    log = logs.get(__name__)
    if log.verbosity >= 3:
        log.v(3, "Attempting to schedule pod", pod=ref(pod))

The question before a line is all that a silent one costs. What is said through Python's own `logging` comes out in
the same format.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any, TextIO

from stowplan.logs.format import LogEntry, as_json, as_text

_DEBUG_FROM = 5

FORMATS: dict[str, Callable[[LogEntry], str]] = {"text": as_text, "json": as_json}


@dataclass(frozen=True)
class LogOptions:
    """How much is said, how, and where to."""

    verbosity: int = 0
    vmodule: tuple[tuple[str, int], ...] = ()
    """(pattern, level): modules whose file name without suffix matches are at least so verbose."""
    format: str = "text"
    split_stream: bool = False
    """Errors to standard error and all else to standard output, instead of all to standard error."""


class Log:
    """What one module says. `verbosity` is how much of it is wanted now."""

    __slots__ = ("name", "verbosity")

    def __init__(self, name: str) -> None:
        self.name = name
        self.verbosity = 0

    def info(self, message: str, /, **values: Any) -> None:
        """Said always."""
        _write("I", 0, message, None, values, sys._getframe(1))

    def v(self, level: int, message: str, /, **values: Any) -> None:
        """Said from a level of verbosity on. Ask `verbosity` first where the values cost something."""
        if level <= self.verbosity:
            _write("I", level, message, None, values, sys._getframe(1))

    def warning(self, message: str, /, **values: Any) -> None:
        _write("W", 0, message, None, values, sys._getframe(1))

    def error(self, error: object, message: str, /, **values: Any) -> None:
        """What went wrong; `error` is the reason, None where the message says it all."""
        _write("E", None, message, error, values, sys._getframe(1))


@dataclass
class _State:
    options: LogOptions = LogOptions()
    stdout: TextIO | None = None
    stderr: TextIO | None = None
    logs: dict[str, Log] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _State()


def get(name: str) -> Log:
    """The log of a module, by the module's name."""
    log = _state.logs.get(name)
    if log is None:
        log = _state.logs.setdefault(name, Log(name))
        log.verbosity = _verbosity_of(name)
    return log


def configure(options: LogOptions, *, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
    """Apply the flags. Lines of Python's `logging` go the same way from then on."""
    _state.options, _state.stdout, _state.stderr = options, stdout, stderr
    _apply_verbosity()
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, _Bridge)]
    root.addHandler(_Bridge())


def set_verbosity(verbosity: int) -> None:
    """Change the level while running."""
    _state.options = LogOptions(**{**vars(_state.options), "verbosity": verbosity})
    _apply_verbosity()


def parse_vmodule(text: str) -> tuple[tuple[str, int], ...]:
    """`pattern=N,...`; a ValueError says what is wrong with it."""
    rules = []
    for rule in filter(None, text.split(",")):
        pattern, separator, level = rule.partition("=")
        if not pattern or not separator:
            raise ValueError(f'"{rule}" does not have the pattern=N format')
        if not level.isdecimal():
            raise ValueError(f'parsing verbosity in "{rule}": strconv.ParseUint: parsing "{level}": invalid syntax')
        rules.append((pattern, int(level)))
    return tuple(rules)


def _apply_verbosity() -> None:
    for log in list(_state.logs.values()):
        log.verbosity = _verbosity_of(log.name)
    # What other rooms say through Python's own logging has but two levels.
    logging.getLogger("stowplan").setLevel(logging.DEBUG if _state.options.verbosity >= _DEBUG_FROM else logging.INFO)


def _verbosity_of(name: str) -> int:
    options = _state.options
    path = name.replace(".", "/")
    file = path.rpartition("/")[2]
    levels = (level for pattern, level in options.vmodule if fnmatchcase(path if "/" in pattern else file, pattern))
    return max(options.verbosity, next(levels, 0))


def _write(
    severity: str, level: int | None, message: str, error: object, values: Mapping[str, Any], frame: FrameType
) -> None:
    place = frame.f_code.co_filename, frame.f_lineno
    _put(LogEntry(severity, time.time(), *place, level, message, error, values))


def _put(entry: LogEntry) -> None:
    options = _state.options
    line = FORMATS[options.format](entry) + "\n"
    to_stdout = options.split_stream and entry.severity != "E"
    stream = (_state.stdout or sys.stdout) if to_stdout else (_state.stderr or sys.stderr)
    with _state.lock:
        try:
            stream.write(line)
            stream.flush()
        except (OSError, ValueError):
            return  # Nobody reads along any more, which is no reason to stop scheduling.


class _Bridge(logging.Handler):
    """Brings lines of Python's `logging` into the same format."""

    def emit(self, record: logging.LogRecord) -> None:
        severity = "E" if record.levelno >= logging.ERROR else "W" if record.levelno >= logging.WARNING else "I"
        values: dict[str, Any] = {}
        if record.exc_info:
            values["stacktrace"] = logging.Formatter().formatException(record.exc_info)
        level = None if severity == "E" else 0
        place = record.pathname, record.lineno
        _put(LogEntry(severity, record.created, *place, level, record.getMessage(), None, values, structured=False))
