"""Durations and timestamps.

Upstream: github.com/google/cel-go/common/types/duration.go, github.com/google/cel-go/common/types/timestamp.go
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from stowplan.cel.cost import per_character
from stowplan.cel.library import Library
from stowplan.cel.values import MAX_INT, CelError, DurationValue, Timestamp

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_SECOND = 10**9
_MICRO = 10**3
_UNITS = {
    **dict.fromkeys(("us", "µs", "\u03bcs"), _MICRO),
    **{"ns": 1, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND},
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|[µ\u03bc]s|ms|s|m|h)", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MAX_DIGITS = 20
"""Digits of a 64-bit number; a fraction is not read beyond."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = -62135596800 * _SECOND, (253402300799 + 1) * _SECOND - 1


@overload("duration(string) -> duration", work=per_character(50))
def parse_duration(text: str) -> DurationValue:
    at = start = int(text.startswith(("+", "-")))
    if text[start:] == "0":
        return DurationValue(0)
    nanos = 0
    # Part by part: the stack of a regular expression with a repeated group takes 200 bytes for each character.
    while part := _PART.match(text, at):
        amount, unit = part.groups()
        whole, _, fraction = amount.partition(".")
        whole, fraction = whole.lstrip("0"), fraction[:_MAX_DIGITS]
        if len(whole) > _MAX_DIGITS:
            break
        at = part.end()
        nanos += int(whole or "0") * _UNITS[unit] + int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
    if at == start or at < len(text):
        raise CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return _duration(-nanos if text.startswith("-") else nanos)


@overload("timestamp(string) -> timestamp", work=per_character(4))
def parse_timestamp(text: str) -> Timestamp:
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        instant = datetime.fromisoformat(match.group(1) + match.group(3).replace("Z", "+00:00"))
    except ValueError:
        raise CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'") from None
    fraction = (match.group(2) or "").ljust(9, "0")[:9]
    return _timestamp((instant - _EPOCH) // timedelta(seconds=1) * _SECOND + int(fraction))


def _duration(nanos: int) -> DurationValue:
    if abs(nanos) > MAX_INT:
        raise CelError("integer overflow")
    return DurationValue(nanos)


def _timestamp(nanos: int) -> Timestamp:
    if not _EARLIEST <= nanos <= _LATEST:
        raise CelError("range error converting to timestamp")
    return Timestamp(nanos)


declare("duration(duration) -> duration", lambda value: value)
declare("duration(int) -> duration", lambda value: _duration(value * _SECOND))
declare("timestamp(timestamp) -> timestamp", lambda value: value)
declare("timestamp(int) -> timestamp", lambda value: _timestamp(value * _SECOND))
declare("int(duration) -> int", lambda value: value.nanos)
declare("int(timestamp) -> int", lambda value: value.nanos // _SECOND)
declare("_+_(duration, duration) -> duration", lambda a, b: _duration(a.nanos + b.nanos))
declare("_+_(timestamp, duration) -> timestamp", lambda a, b: _timestamp(a.nanos + b.nanos))
declare("_+_(duration, timestamp) -> timestamp", lambda a, b: _timestamp(a.nanos + b.nanos))
declare("_-_(duration, duration) -> duration", lambda a, b: _duration(a.nanos - b.nanos))
declare("_-_(timestamp, duration) -> timestamp", lambda a, b: _timestamp(a.nanos - b.nanos))
declare("_-_(timestamp, timestamp) -> duration", lambda a, b: _duration(a.nanos - b.nanos))


@overload("string(duration) -> string")
def duration_text(value: DurationValue) -> str:
    seconds, rest = divmod(abs(value.nanos), _SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' if value.nanos < 0 else ''}{seconds}{fraction}s"


@overload("string(timestamp) -> string")
def timestamp_text(value: Timestamp) -> str:
    seconds, rest = divmod(value.nanos, _SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S") + f"{fraction}Z"


def _zone(name: str) -> tzinfo:
    match = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", name)
    if match:
        offset = timedelta(hours=int(match.group(2)), minutes=int(match.group(3)))
        return timezone(-offset if match.group(1) == "-" else offset)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise CelError(f"unknown time zone {name}") from None


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}


def _declare_parts() -> None:
    for name, part in _PARTS.items():

        def read(value: Timestamp, zone: str = "UTC", part: Callable[[datetime], int] = part) -> int:
            return part((_EPOCH + timedelta(microseconds=value.nanos // 1000)).astimezone(_zone(zone)))

        declare(f"timestamp::{name}() -> int", read)
        declare(f"timestamp::{name}(string) -> int", read, work=per_character(12, 1))
    units = {"getHours": "h", "getMinutes": "m", "getSeconds": "s", "getMilliseconds": "ms"}
    for name, unit in units.items():
        declare(f"duration::{name}() -> int", lambda value, per=_UNITS[unit]: int(value.nanos / per))


_declare_parts()
