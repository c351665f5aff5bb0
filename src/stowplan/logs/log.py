"""The logger of each module, the verbosity set by `-v` and `--vmodule`, and the destination of log lines.

    log = logs.get(__name__)
    if log.verbosity >= 3:
        log.v(3, "Attempting to schedule pod", pod=logs.ref(pod))

The comparison is the whole cost of a line that is not written. Two destinations exist: a server calls `configure` and
writes klog's text or JSON, with the lines of Python's `logging` bridged into the same format; everywhere else, as in
tests and in programs that import stowplan, lines go to Python's `logging` under the module's name.

Upstream: k8s.io/klog/v2/klog.go, k8s.io/component-base/logs/api/v1/options.go
"""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any, TextIO

from stowplan.logs.format import LogEntry, as_json, as_plain, as_text

FORMATS: dict[str, Callable[[LogEntry], str]] = {"text": as_text, "json": as_json}

_PYTHON_LEVELS = {"I": logging.INFO, "W": logging.WARNING, "E": logging.ERROR}


@dataclass(frozen=True)
class LogOptions:
    """Verbosity, format and streams of a server's log."""

    verbosity: int = 0
    vmodule: tuple[tuple[str, int], ...] = ()
    """(pattern, level): modules whose file name without suffix matches have at least this verbosity."""
    format: str = "text"
    text_split_stream: bool = False
    json_split_stream: bool = False

    @property
    def split_stream(self) -> bool:
        """Whether only errors go to standard error and other lines to standard output."""
        return self.json_split_stream if self.format == "json" else self.text_split_stream


class Log:
    """The logger of one module. Lines up to level `verbosity` are written."""

    __slots__ = ("name", "verbosity")

    def __init__(self, name: str) -> None:
        self.name = name
        self.verbosity = 0

    def info(self, message: str, /, **values: Any) -> None:
        """Writes a line at every verbosity."""
        _write(self.name, "I", 0, message, None, values, sys._getframe(1))

    def v(self, level: int, message: str, /, **values: Any) -> None:
        """Writes a line from verbosity `level` on. Compare `verbosity` first if the values are expensive."""
        if level <= self.verbosity:
            _write(self.name, "I", level, message, None, values, sys._getframe(1))

    def warning(self, message: str, /, **values: Any) -> None:
        _write(self.name, "W", 0, message, None, values, sys._getframe(1))

    def error(self, error: object, message: str, /, **values: Any) -> None:
        """Writes an error line with `error` as its field `err`; None leaves the field out."""
        _write(self.name, "E", None, message, error, values, sys._getframe(1))

    def exception(self, error: BaseException, message: str, /, **values: Any) -> None:
        """The same with the stack trace of an unexpected exception."""
        values["stacktrace"] = stack_trace(error)
        _write(self.name, "E", None, message, error, values, sys._getframe(1))


def _to_python_logging(name: str, entry: LogEntry) -> None:
    """The destination until `configure` is called."""
    logger, level = logging.getLogger(name), _PYTHON_LEVELS[entry.severity]
    if logger.isEnabledFor(level):
        record = logging.LogRecord(name, level, entry.path, entry.line, as_plain(entry), (), None)
        record.exc_text = entry.values.get("stacktrace")
        logger.handle(record)


@dataclass
class _State:
    options: LogOptions = LogOptions()
    destination: Callable[[str, LogEntry], None] = _to_python_logging
    stdout: TextIO | None = None
    stderr: TextIO | None = None
    logs: dict[str, Log] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _State()


def get(name: str) -> Log:
    """The logger of a module, by the module's name."""
    log = _state.logs.get(name)
    if log is None:
        log = _state.logs.setdefault(name, Log(name))
        log.verbosity = _verbosity_of(name)
    return log


def configure(options: LogOptions, *, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
    """Write klog's text or JSON to the streams, also the lines of libraries that use Python's `logging`."""
    _state.options, _state.stdout, _state.stderr = options, stdout, stderr
    _state.destination = _to_streams
    _apply_verbosity()
    _remove_bridge()
    logging.getLogger().addHandler(_Bridge())


def unconfigure() -> None:
    """Send lines to Python's `logging` again, at verbosity 0."""
    _state.destination = _to_python_logging
    _state.options, _state.stdout, _state.stderr = LogOptions(), None, None
    _apply_verbosity()
    _remove_bridge()


def set_verbosity(verbosity: int) -> None:
    """Change the level while running."""
    _state.options = replace(_state.options, verbosity=verbosity)
    _apply_verbosity()


def keep_errors_only(library: str) -> None:
    """Let a library that uses Python's `logging` log errors alone."""
    logging.getLogger(library).setLevel(logging.ERROR)


def leave_out(library_logger: str, part: str) -> None:
    """Drop the lines of a library's logger whose message has this part."""
    logging.getLogger(library_logger).addFilter(lambda record: part not in str(record.msg))


def parse_vmodule(text: str) -> tuple[tuple[str, int], ...]:
    """Parse `pattern=N,...`; raises ValueError in klog's words."""
    rules = []
    for rule in filter(None, text.split(",")):
        pattern, separator, level = rule.partition("=")
        if not pattern or not separator:
            raise ValueError(f'"{rule}" does not have the pattern=N format')
        if not level.isdecimal():
            raise ValueError(f'parsing verbosity in "{rule}": strconv.ParseUint: parsing "{level}": invalid syntax')
        rules.append((pattern, int(level)))
    return tuple(rules)


def stack_trace(error: BaseException) -> str:
    """The traceback of an exception, for the field `stacktrace`."""
    return "".join(traceback.format_exception(error)).removesuffix("\n")


def _apply_verbosity() -> None:
    for log in list(_state.logs.values()):
        log.verbosity = _verbosity_of(log.name)


def _verbosity_of(name: str) -> int:
    options = _state.options
    path = name.replace(".", "/")
    file = path.rpartition("/")[2]
    levels = (level for pattern, level in options.vmodule if fnmatchcase(path if "/" in pattern else file, pattern))
    return max(options.verbosity, next(levels, 0))


def _write(
    name: str,
    severity: str,
    level: int | None,
    message: str,
    error: object,
    values: Mapping[str, Any],
    frame: FrameType,
) -> None:
    place = frame.f_code.co_filename, frame.f_lineno
    _state.destination(name, LogEntry(severity, time.time(), *place, level, message, error, values))


def _to_streams(name: str, entry: LogEntry) -> None:
    options = _state.options
    line = FORMATS[options.format](entry) + "\n"
    to_stdout = options.split_stream and entry.severity != "E"
    stream = (_state.stdout or sys.stdout) if to_stdout else (_state.stderr or sys.stderr)
    with _state.lock:
        try:
            stream.write(line)
            stream.flush()
        except (OSError, ValueError):
            return  # The reader closed the stream; scheduling goes on.


class _Bridge(logging.Handler):
    """Writes the records of Python's `logging` in the configured format."""

    def emit(self, record: logging.LogRecord) -> None:
        severity = "E" if record.levelno >= logging.ERROR else "W" if record.levelno >= logging.WARNING else "I"
        values: dict[str, Any] = {}
        if record.exc_info:
            values["stacktrace"] = logging.Formatter().formatException(record.exc_info)
        level = None if severity == "E" else 0
        place = record.pathname, record.lineno
        entry = LogEntry(severity, record.created, *place, level, record.getMessage(), None, values, structured=False)
        _to_streams(record.name, entry)


def _remove_bridge() -> None:
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, _Bridge)]
