"""Values put into texts by `format`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from stowplan.cel.time_library import duration_text, timestamp_text
from stowplan.cel.values import CelError, DurationValue, Timestamp, TypeValue, UInt, type_name

CLAUSE = re.compile(r"%(%|(?:\.(\d+))?([sdfebxXo]))")
_PRECISION = 6


def format_string(template: str, args: list[Any]) -> str:
    out: list[str] = []
    at, used = 0, 0
    while (start := template.find("%", at)) >= 0:
        out.append(template[at:start])
        clause = CLAUSE.match(template, start)
        if clause is None:
            if start + 1 == len(template):
                raise CelError("unexpected end of string")
            raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{template[start + 1]}"')
        at = clause.end()
        if clause.group(1) == "%":
            out.append("%")
            continue
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        precision = _PRECISION if clause.group(2) is None else int(clause.group(2))
        out.append(_CLAUSES[clause.group(3)](args[used], precision))
        used += 1
    return "".join(out) + template[at:]


def refusal(letter: str, kind: str) -> str:
    """What is said of a value of a kind that a clause does not take."""
    clause, allowed = _ALLOWED[letter]
    return f"error during formatting: {clause} clause can only be used on {allowed}, was given {kind}"


_HEX = ("hex", "integers, byte buffers, and strings")
_PRINTED = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
_ALLOWED = {
    "s": ("string", _PRINTED),
    "d": ("decimal", "integers"),
    "f": ("fixed-point", "doubles"),
    "e": ("scientific", "doubles"),
    "b": ("binary", "integers and bools"),
    "x": _HEX,
    "X": _HEX,
    "o": ("octal", "integers"),
}


def _refuse(letter: str, value: Any) -> CelError:
    return CelError(refusal(letter, type_name(value)))


def _string(value: Any, _: int = 0) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(int(value))
        case float():
            return _double(value)
        case bytes():
            return value.decode(errors="replace")
        case DurationValue():
            return str(duration_text(value))
        case Timestamp():
            return str(timestamp_text(value))
        case TypeValue():
            return value.name
        case list():
            return f"[{', '.join(map(_nested, value))}]"
        case dict():
            pairs = sorted((_nested(key), _nested(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    raise _refuse("s", value)


def _nested(value: Any) -> str:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return "b" + json.dumps(value.decode(errors="replace"), ensure_ascii=False)
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{_double(value)}"'
        case DurationValue():
            return f'duration("{duration_text(value)}")'
        case Timestamp():
            return f'timestamp("{timestamp_text(value)}")'
    return _string(value)


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Any, _: int) -> str:
    if type(value) not in (int, UInt):
        raise _refuse("d", value)
    return str(int(value))


def _floating(code: str) -> Callable[[Any, int], str]:
    def put(value: Any, precision: int) -> str:
        if type(value) is not float:
            raise _refuse(code, value)
        return f"{value:.{precision}{code}}"

    return put


def _radix(code: str, *also: type) -> Callable[[Any, int], str]:
    def put(value: Any, _: int) -> str:
        if type(value) in (int, UInt) or (type(value) is bool and bool in also):
            return f"{int(value):{code}}"
        if type(value) in also:
            data = value.encode() if isinstance(value, str) else value
            return str(data.hex().upper() if code == "X" else data.hex())
        raise _refuse(code, value)

    return put


_CLAUSES: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _floating("f"),
    "e": _floating("e"),
    "b": _radix("b", bool),
    "x": _radix("x", str, bytes),
    "X": _radix("X", str, bytes),
    "o": _radix("o"),
}
