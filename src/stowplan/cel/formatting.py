"""The function `format`.

Numbers are formatted in the English of golang.org/x/text, which cel-go uses: `%f` groups digits, `%e` has a power of
ten and takes its precision for a width, and a precision is kept in one byte.

Upstream: github.com/google/cel-go/ext/formatting.go
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from stowplan.cel.cost import CHAR_WORK, CostTracker
from stowplan.cel.time_library import duration_text, timestamp_text
from stowplan.cel.values import MAX_INT, CelError, DurationValue, Timestamp, TypeValue, UInt, type_name

CLAUSE = re.compile(r"%(%|(?:\.(\d+))?([sdfebxXo]))")
_DEFAULT_PRECISION = 6
_MAX_PRECISION = 10_000_009
_PRECISION_BITS = 0xFF
_CLAUSE_WORK = 50
_MAX_WORK_PER_VALUE = 32
"""Work of a number, a boolean, a duration or a timestamp."""
_SUPERSCRIPTS = str.maketrans("+-0123456789", "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_string(tracker: CostTracker, template: str, args: list[Any]) -> str:
    """Fill the clauses of a template. Each value is charged before it is formatted."""
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
        tracker.work(_CLAUSE_WORK)
        if clause.group(1) == "%":
            out.append("%")
            continue
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        letter = clause.group(3)
        out.append(_CLAUSES[letter](tracker, args[used], _precision(clause.group(2))))
        used += 1
    tracker.work(CHAR_WORK * sum(map(len, out)))
    return "".join(out) + template[at:]


def _precision(digits: str | None) -> int:
    if digits is None:
        return _DEFAULT_PRECISION
    if len(digits.lstrip("0")) > 19 or int(digits) > MAX_INT:
        wrong = f'error while converting precision to integer: strconv.Atoi: parsing "{digits}": value out of range'
        raise CelError(f"could not parse formatting clause: error while parsing precision: {wrong}")
    return int(digits)


def refusal(letter: str, kind: str) -> str:
    """The error of a value whose type a clause does not accept."""
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


def _string(tracker: CostTracker, value: Any, _: int = 0) -> str:
    match value:
        case str():
            return value
        case bytes():
            tracker.work(CHAR_WORK * len(value))
            return value.decode(errors="replace")
        case list():
            return f"[{_joined(tracker, (_nested(tracker, item) for item in value))}]"
        case dict():
            pairs = sorted((_nested(tracker, key), _nested(tracker, item)) for key, item in value.items())
            return "{" + _joined(tracker, (f"{key}:{item}" for key, item in pairs)) + "}"
    tracker.work(_MAX_WORK_PER_VALUE)
    return _scalar(value)


def _scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _double(value)
        case DurationValue():
            return str(duration_text(value))
        case Timestamp():
            return str(timestamp_text(value))
        case TypeValue():
            return value.name
    raise _refuse("s", value)


def _joined(tracker: CostTracker, parts: Iterable[str]) -> str:
    made: list[str] = []
    for part in parts:
        tracker.work(CHAR_WORK * (len(part) + 2))
        made.append(part)
    tracker.check_time()
    return ", ".join(made)


def _nested(tracker: CostTracker, value: Any) -> str:
    match value:
        case str() | bytes():
            tracker.work(2 * CHAR_WORK * len(value))
            text = value if isinstance(value, str) else value.decode(errors="replace")
            return ("" if isinstance(value, str) else "b") + json.dumps(text, ensure_ascii=False)
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{_double(value)}"'
        case DurationValue():
            return f'duration("{duration_text(value)}")'
        case Timestamp():
            return f'timestamp("{timestamp_text(value)}")'
    return _string(tracker, value)


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(_: CostTracker, value: Any, __: int) -> str:
    if type(value) not in (int, UInt):
        raise _refuse("d", value)
    return str(int(value))


def _finite_or_text(letter: str, value: Any) -> float | str:
    """A finite number, or the text of one that is not; the names of such numbers are accepted as strings."""
    if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)
    if type(value) is not float:
        raise _refuse(letter, value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _fixed(tracker: CostTracker, value: Any, precision: int) -> str:
    number = _finite_or_text("f", value)
    if precision > _MAX_PRECISION:
        return "%!(NOVERB)"
    if isinstance(number, str):
        return number
    tracker.work(CHAR_WORK * 1024)
    return f"{number:,.{precision & _PRECISION_BITS}f}"


def _scientific(tracker: CostTracker, value: Any, width: int) -> str:
    number = _finite_or_text("e", value)
    if width > _MAX_PRECISION:
        return "%!(NOVERB)"
    tracker.work(CHAR_WORK * width)
    if isinstance(number, str):
        return number.rjust(width)
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    return f"{mantissa}\u00d710{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}".rjust(width)


def _radix(code: str, *also: type) -> Callable[[CostTracker, Any, int], str]:
    def put(tracker: CostTracker, value: Any, _: int) -> str:
        if type(value) in (int, UInt) or (type(value) is bool and bool in also):
            return f"{int(value):{code}}"
        if type(value) in also:
            tracker.work(8 * CHAR_WORK * len(value))
            data = value.encode() if isinstance(value, str) else value
            return str(data.hex().upper() if code == "X" else data.hex())
        raise _refuse(code, value)

    return put


_CLAUSES: dict[str, Callable[[CostTracker, Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _radix("b", bool),
    "x": _radix("x", str, bytes),
    "X": _radix("X", str, bytes),
    "o": _radix("o"),
}
