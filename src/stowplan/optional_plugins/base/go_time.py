"""Times in the layouts of Go's package time, which configurations of Go programs use.

Upstream: time/format.go (Parse)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_SHORT_MONTHS = [month[:3] for month in _MONTHS]
_FRACTION = r"(?:[.,](?P<fraction>[0-9]+))?"
_ZONE = r"(?P<offset>{}[+-][0-9]{{2}}{})"

_TOKENS = {
    "January": f"(?P<month_name>{'|'.join(_MONTHS)})",
    "Monday": f"(?:{'|'.join(_DAYS)})",
    "2006": "(?P<year>[0-9]{4})",
    "-07:00": _ZONE.format("", ":[0-9]{2}"),
    "Z07:00": _ZONE.format("Z|", ":[0-9]{2}"),
    "-0700": _ZONE.format("", "[0-9]{2}"),
    "Z0700": _ZONE.format("Z|", "[0-9]{2}"),
    "-07": _ZONE.format("", ""),
    "Z07": _ZONE.format("Z|", ""),
    "Jan": f"(?P<month_name>{'|'.join(_SHORT_MONTHS)})",
    "Mon": f"(?:{'|'.join(day[:3] for day in _DAYS)})",
    "MST": "(?:UTC|GMT|[A-Z]{3,4})",
    "01": "(?P<month>[0-9]{2})",
    "02": "(?P<day>[0-9]{2})",
    "03": "(?P<hour12>[0-9]{2})",
    "04": "(?P<minute>[0-9]{2})",
    "05": f"(?P<second>[0-9]{{2}}){_FRACTION}",
    "06": "(?P<year2>[0-9]{2})",
    "15": "(?P<hour>[0-9]{1,2})",
    "PM": "(?P<half>AM|PM)",
    "pm": "(?P<half>am|pm)",
    "_2": "(?P<day> ?[0-9]{1,2})",
    "1": "(?P<month>[0-9]{1,2})",
    "2": "(?P<day>[0-9]{1,2})",
    "3": "(?P<hour12>[0-9]{1,2})",
    "4": "(?P<minute>[0-9]{1,2})",
    "5": f"(?P<second>[0-9]{{1,2}}){_FRACTION}",
}
_TOKEN = re.compile("|".join(map(re.escape, _TOKENS)) + r"|[.,](?:0+|9+)(?![0-9])")


def parse_go_time(layout: str, text: str) -> float | None:
    """Seconds since 1970, or None if the text does not have the layout. Without a zone, the time is in UTC."""
    match = _compiled(layout).fullmatch(text)
    if match is None:
        return None
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    try:
        return _moment(found).timestamp()
    except (ValueError, OverflowError):
        return None


@lru_cache(64)
def _compiled(layout: str) -> re.Pattern[str]:
    pattern, end = "", 0
    for token in _TOKEN.finditer(layout):
        # A fraction in the layout follows the seconds, which accept one anyway.
        pattern += re.escape(layout[end : token.start()]) + _TOKENS.get(token[0], "")
        end = token.end()
    return re.compile(pattern + re.escape(layout[end:]), re.ASCII)


def _moment(found: dict[str, str]) -> datetime:
    year = int(found.get("year", 0)) or _full_year(found.get("year2"))
    names = _SHORT_MONTHS if len(found.get("month_name", "")) == len("Jan") else _MONTHS
    month = names.index(found["month_name"]) + 1 if "month_name" in found else int(found.get("month", 1))
    hour = int(found.get("hour", 0))
    if "hour12" in found:
        hour = int(found["hour12"]) % 12 + (12 if found.get("half", "").upper() == "PM" else 0)
    moment = datetime(
        year,
        month,
        int(found.get("day", 1)),
        hour,
        int(found.get("minute", 0)),
        int(found.get("second", 0)),
        tzinfo=UTC,
    )
    return moment + timedelta(seconds=float("0." + found.get("fraction", "0"))) - _offset(found.get("offset", "Z"))


def _full_year(short: str | None) -> int:
    """The year of two digits: 69 is 1969, 68 is 2068. Without a year, the first that datetime has."""
    if short is None:
        return 1
    return int(short) + (1900 if int(short) >= 69 else 2000)


def _offset(text: str) -> timedelta:
    if text in ("Z", ""):
        return timedelta()
    digits = text[1:].replace(":", "")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return -size if text[0] == "-" else size
