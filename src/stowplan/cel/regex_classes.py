"""Classes of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

Test: TypeAlias = Callable[[str], bool]

_POSIX: dict[str, str] = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZaz__",
    "xdigit": "09AFaf",
}
"""Ranges, as pairs of first and last."""

_SCRIPTS = {"Greek": "GREEK", "Latin": "LATIN", "Cyrillic": "CYRILLIC", "Han": "CJK UNIFIED"}


def in_ranges(pairs: str) -> Test:
    ranges = [(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)]
    return lambda char: any(low <= char <= high for low, high in ranges)


def negated(test: Test) -> Test:
    return lambda char: not test(char)


def any_of(tests: Sequence[Test], ignore_case: bool) -> Test:
    if ignore_case:
        return lambda char: any(test(c) for test in tests for c in {char, char.lower(), char.upper()} if len(c) == 1)
    return lambda char: any(test(char) for test in tests)


def one_char(wanted: str, ignore_case: bool) -> Test:
    if ignore_case:
        folded = wanted.casefold()
        return lambda char: char == wanted or char.casefold() == folded
    return lambda char: char == wanted


_KNOWN: dict[str, Test] = {f":{name}": in_ranges(pairs) for name, pairs in _POSIX.items()}
_KNOWN |= {"d": _KNOWN[":digit"], "w": _KNOWN[":word"], "s": in_ranges("\t\n\f\r  ")}
_KNOWN |= {name.upper(): negated(_KNOWN[name]) for name in "dws"}


def class_of(name: str) -> Test | None:
    """`d` for what \\d stands for, `:alpha` for what [:alpha:] does."""
    return _KNOWN.get(name)


def unicode_class(name: str) -> Test | None:
    """A general category such as Lu or L, or a script."""
    if name in _SCRIPTS:
        prefix = _SCRIPTS[name]
        return lambda char: unicodedata.name(char, "").startswith(prefix)
    if len(name) in (1, 2) and name[0] in "LMNPSZC":
        return lambda char: unicodedata.category(char).startswith(name)
    return None
