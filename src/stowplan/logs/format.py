"""Log lines as Kubernetes' components write them: klog's text, and one JSON object per line.

Upstream: k8s.io/klog/v2/internal/serialize/keyvalues.go, k8s.io/component-base/logs/json/json.go
"""

import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

_PID = os.getpid()
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_SECRET = re.compile(r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{6,}")
_PASSWORD = re.compile(r"(://[^\s/@:]*:)[^\s/@]+@")
"""A password in a URL, such as a proxy's."""


class ObjectRef(NamedTuple):
    """Reference to an object (klog.KObj): "namespace/name" in text, an object with two fields in JSON."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Named(Protocol):
    """An object with a namespace and a name."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


def ref(item: Named | str) -> ObjectRef:
    """The field value for a pod or another object, or for its key "namespace/name"."""
    if isinstance(item, str):
        namespace, _, name = item.rpartition("/")
        return ObjectRef(namespace, name)
    return ObjectRef(item.namespace, item.name)


class LogEntry(NamedTuple):
    """One line before it is written."""

    severity: str
    """I, W, E or F."""
    time: float
    path: str
    line: int
    level: int | None
    """The verbosity from which the line is written; None for errors."""
    message: str
    error: object = None
    values: Mapping[str, Any] = {}
    structured: bool = True
    """False for lines of Python's `logging`: their message contains values and is not quoted."""


def as_text(entry: LogEntry) -> str:
    """klog's text: severity, date and time, process, source line, message, fields."""
    when = time.localtime(entry.time)
    micros = int(entry.time % 1 * 1_000_000)
    head = (
        f"{entry.severity}{when.tm_mon:02}{when.tm_mday:02} {when.tm_hour:02}:{when.tm_min:02}:{when.tm_sec:02}"
        f".{micros:06} {_PID:7} {os.path.basename(entry.path)}:{entry.line}] "
    )
    parts = [head, quote(entry.message) if entry.structured else entry.message]
    if entry.error is not None:
        parts.append(f" err{_text_value(str(entry.error))}")
    parts += (f" {key}{_text_value(value)}" for key, value in entry.values.items())
    return _without_secrets("".join(parts))


def as_json(entry: LogEntry) -> str:
    """One JSON object: `ts` in milliseconds since 1970, `caller`, `msg`, `v`, the fields, `err`."""
    folder, file = os.path.split(entry.path)
    fields: dict[str, Any] = {
        "ts": entry.time * 1000,
        "caller": f"{os.path.basename(folder)}/{file}:{entry.line}",
        "msg": entry.message,
    }
    if entry.level is not None:
        fields["v"] = entry.level
    fields |= {key: _json_value(value) for key, value in entry.values.items()}
    if entry.error is not None:
        fields["err"] = str(entry.error)
    return _without_secrets(_encode(fields))


def as_plain(entry: LogEntry) -> str:
    """A sentence for a terminal: `message: error (field=value, ...)`, without a stack trace."""
    values = dict(entry.values)
    error = values.pop("err", entry.error)
    values.pop("stacktrace", None)
    parts = [entry.message]
    if error is not None:
        parts.append(f": {error}")
    if values:
        parts.append(f" ({', '.join(f'{key}={value}' for key, value in values.items())})")
    return _without_secrets("".join(parts))


def quote(text: str) -> str:
    """Quote as Go's strconv.Quote: printable characters are kept, others are escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if escaped.isprintable() else f'"{"".join(map(_escape, escaped))}"'


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _text_value(value: object) -> str:
    """`=value`. Text of several lines is indented between `<` and `>`."""
    if isinstance(value, ObjectRef | BaseException):
        value = str(value)
    if not isinstance(value, str):
        return f"={_encode(value)}"
    if "\n" not in value:
        return f"={quote(value)}"
    lines = value.removesuffix("\n").replace("\n", "\n\t")
    return f"=<\n\t{lines}\n >"


def _encode(value: object) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:
        return json.dumps(value, default=str)  # Escapes lone surrogates, as in file names.


def _json_value(value: object) -> object:
    if isinstance(value, ObjectRef):
        return {"name": value.name, "namespace": value.namespace} if value.namespace else {"name": value.name}
    return value


def _without_secrets(line: str) -> str:
    """Redact credentials, which the text of an error may contain."""
    line = _SECRET.sub(r"\1\2[redacted]", line)
    return _PASSWORD.sub(r"\1[redacted]@", line) if "@" in line else line
