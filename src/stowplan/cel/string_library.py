"""String functions, and functions on regular expressions.

Upstream: github.com/google/cel-go/ext/strings.go, k8s.io/apiserver/pkg/cel/library/regex.go
"""

from __future__ import annotations

from typing import Any

from stowplan.cel.cost import (
    CHAR_WORK,
    TEXT_ITEM_WORK,
    CostTracker,
    by_first,
    by_first_twice,
    by_joined,
    by_list,
    by_regex,
    joined_size,
    per_character,
)
from stowplan.cel.formatting import format_string
from stowplan.cel.library import Library
from stowplan.cel.regex import Regex, regex_for
from stowplan.cel.values import CelError

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_CASE_WORK = per_character(6)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LONG_PART = 32
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}

declare("string::lowerAscii() -> string", lambda text: text.translate(_LOWER), by_first, work=_CASE_WORK)
declare("string::upperAscii() -> string", lambda text: text.translate(_UPPER), by_first, work=_CASE_WORK)
declare("string::trim() -> string", str.strip, by_first)
declare("string::format(list(dyn)) -> string", format_string, by_first, metered=True)


@overload("string::charAt(int) -> string")
def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


@overload("string::indexOf(string) -> int", "string::indexOf(string, int) -> int", cost=by_list)
def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


@overload("string::lastIndexOf(string) -> int", "string::lastIndexOf(string, int) -> int", cost=by_list)
def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return _rfind(text, part)
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return -1 if start >= len(text) else _rfind(text[: start + len(part)], part)


def _rfind(text: str, part: str) -> int:
    """As str.rfind, which takes time by the product of the lengths where str.find takes it by their sum."""
    if len(part) < _LONG_PART:
        return text.rfind(part)
    found = text[::-1].find(part[::-1])
    return -1 if found < 0 else len(text) - found - len(part)


@overload(
    "string::replace(string, string) -> string",
    "string::replace(string, string, int) -> string",
    cost=by_first_twice,
    metered=True,
)
def _replace(tracker: CostTracker, text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old)
    replaced = found if count < 0 else min(found, count)
    tracker.work(CHAR_WORK * (len(text) + replaced * (len(new) - len(old))))
    return text.replace(old, new, max(count, -1))


@overload(
    "string::split(string) -> list(string)",
    "string::split(string, int) -> list(string)",
    cost=by_first_twice,
    metered=True,
)
def _split(tracker: CostTracker, text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    tracker.work(TEXT_ITEM_WORK * (text.count(separator) + 1))
    if not separator:
        whole = list(text)
        return whole if count < 0 or count >= len(whole) else [*whole[: count - 1], "".join(whole[count - 1 :])]
    return text.split(separator, count - 1 if count > 0 else -1)


@overload("string::substring(int) -> string", "string::substring(int, int) -> string", cost=by_first)
def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for at in (start, last):
        if not 0 <= at <= len(text):
            raise CelError(f"index out of range: {at}")
    return text[start:last]


@overload("list(string)::join() -> string", "list(string)::join(string) -> string", cost=by_joined, metered=True)
def _join(tracker: CostTracker, items: list[Any], separator: str = "") -> str:
    tracker.work(CHAR_WORK * joined_size(items, separator))
    return separator.join(items)


@overload("strings.quote(string) -> string", cost=by_first, metered=True)
def _quote(tracker: CostTracker, text: str) -> str:
    tracker.work(3 * CHAR_WORK * len(text))
    escaped = "".join(_QUOTED.get(c, f"\\{c}" if c in '\\"' else c) for c in text)
    return f'"{escaped}"'


def _regex(tracker: CostTracker, text: str, pattern: str) -> Regex:
    try:
        return regex_for(tracker, text, pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


@overload("string::find(string) -> string", cost=by_regex, metered=True)
def _find(tracker: CostTracker, text: str, pattern: str) -> str:
    found = _regex(tracker, text, pattern).search(text)
    return "" if found is None else text[found[0] : found[1]]


@overload(
    "string::findAll(string) -> list(string)",
    "string::findAll(string, int) -> list(string)",
    cost=by_regex,
    metered=True,
)
def _find_all(tracker: CostTracker, text: str, pattern: str, count: int = -1) -> list[str]:
    regex = _regex(tracker, text, pattern)
    found: list[str] = []
    if count == 0:
        return found
    for start, end in regex.spans(text):
        found.append(text[start:end])
        if len(found) == count:
            break
        # Each further match may scan the rest of the text.
        tracker.work(TEXT_ITEM_WORK + regex.match_work(text, end))
    return found
