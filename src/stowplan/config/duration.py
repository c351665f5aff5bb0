"""Durations in Go's format: "15s", "1m30s", "2.5ms".

Upstream: time.ParseDuration, time.Duration.String
"""

import re
from typing import Self

_UNITS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek letter mu
    "ns": 1,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_MAX_NANOSECONDS = 2**63 - 1


class Duration:
    """A duration in nanoseconds, within int64."""

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int = 0) -> None:
        self.nanoseconds = nanoseconds

    @classmethod
    def of_seconds(cls, seconds: float) -> Self:
        return cls(round(seconds * _UNITS["s"]))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse as Go's time.ParseDuration does; raises ValueError with its text."""
        negative = text.startswith("-")
        rest = text[1:] if text[:1] in ("-", "+") else text
        if rest == "0":
            return cls()
        total = 0
        position = 0
        while position < len(rest) or not rest:
            part = _PART.match(rest, position)
            if part is None or not (part[1] or part[2]):
                raise ValueError(f'time: invalid duration "{text}"')
            total += _nanoseconds(part[1], part[2] or "", part[3], text)
            position = part.end()
        if total > _MAX_NANOSECONDS + negative:
            raise ValueError(f'time: invalid duration "{text}"')
        return cls(-total if negative else total)

    @property
    def seconds(self) -> float:
        return self.nanoseconds / _UNITS["s"]

    def __str__(self) -> str:
        sign, left = ("-", -self.nanoseconds) if self.nanoseconds < 0 else ("", self.nanoseconds)
        if left < _UNITS["s"]:
            unit = next((unit for unit in ("ms", "\u00b5s", "ns") if left >= _UNITS[unit]), "s")
            return f"{sign}{_decimal(left, _UNITS[unit])}{unit}"
        hours, left = divmod(left, _UNITS["h"])
        minutes, left = divmod(left, _UNITS["m"])
        head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
        return f"{sign}{head}{_decimal(left, _UNITS['s'])}s"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.nanoseconds == other.nanoseconds if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: "Duration") -> bool:
        return self.nanoseconds < other.nanoseconds

    def __le__(self, other: "Duration") -> bool:
        return self.nanoseconds <= other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __bool__(self) -> bool:
        return self.nanoseconds != 0


def _nanoseconds(whole: str, fraction: str, unit: str, text: str) -> int:
    """One number with its unit. Fractions of a nanosecond are dropped, as in Go."""
    if not unit:
        raise ValueError(f'time: missing unit in duration "{text}"')
    if unit not in _UNITS:
        raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
    size, scale = _UNITS[unit], int(f"1{'0' * len(fraction)}")
    return int(whole or "0") * size + int(fraction or "0") * size // scale


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(nanoseconds, unit)
    fraction = str(rest + unit)[1:].rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
