"""Functions on semantic versions.

Upstream: k8s.io/apiserver/pkg/cel/library/semverlib.go, github.com/blang/semver/v4/semver.go
"""

from __future__ import annotations

import re

from stowplan.cel.cost import CostTracker, by_first, per_character
from stowplan.cel.library import Library
from stowplan.cel.values import MAX_UINT, CelError, Semver, semver_keys

LIBRARY = Library()
declare, overload = LIBRARY.declare, LIBRARY.overload

_WORK = per_character(20)
_PART = re.compile(r"[0-9A-Za-z-]+", re.ASCII)


def parse_semver(text: str) -> Semver:
    """A version in its strict form. Raises CelError."""
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    patch, plus, build = parts[2].partition("+")
    patch, minus, prerelease = patch.partition("-")
    names = ("major", "minor", "patch")
    numbers = [_number(part, name) for part, name in zip((*parts[:2], patch), names, strict=True)]
    identifiers = tuple(prerelease.split(".")) if minus else ()
    for identifier in identifiers:
        _check_identifier(identifier)
    for identifier in build.split(".") if plus else ():
        if not identifier:
            raise CelError("Build meta data is empty")
        if not _PART.fullmatch(identifier):
            raise CelError(f'Invalid character(s) found in build meta data "{identifier}"')
    return Semver((numbers[0], numbers[1], numbers[2]), identifiers)


def _number(part: str, name: str) -> int:
    if not (part.isascii() and part.isdigit()):
        raise CelError(f'Invalid character(s) found in {name} number "{part}"')
    if len(part) > 1 and part.startswith("0"):
        raise CelError(f'{name.capitalize()} number must not contain leading zeroes "{part}"')
    return _uint64(part)


def _uint64(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else MAX_UINT + 1
    if value > MAX_UINT:
        raise CelError(f'strconv.ParseUint: parsing "{digits}": value out of range')
    return value


def _check_identifier(identifier: str) -> None:
    if not identifier:
        raise CelError("Prerelease is empty")
    if not _PART.fullmatch(identifier):
        raise CelError(f'Invalid character(s) found in prerelease "{identifier}"')
    if identifier.isdigit():
        if len(identifier) > 1 and identifier.startswith("0"):
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{identifier}"')
        _uint64(identifier)


@overload("semver(string) -> semver", "semver(string, bool) -> semver", cost=by_first, work=_WORK)
def _semver(text: str, normalize: bool = False) -> Semver:
    return parse_semver(_normalized(text) if normalize else text)


@overload("isSemver(string) -> bool", "isSemver(string, bool) -> bool", cost=by_first, work=_WORK)
def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError:
        return False
    return True


def _normalized(text: str) -> str:
    """The version without a leading v and leading zeroes, and with all three numbers."""
    parts = [_without_zeroes(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(c in parts[-1] for c in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeroes(part: str) -> str:
    if len(part) < 2:
        return part
    bare = part.lstrip("0")
    return bare if bare and bare[0].isdigit() else "0" + bare


def _compare(tracker: CostTracker, a: Semver, b: Semver) -> int:
    one, other = semver_keys(tracker, a, b)
    return int(one > other) - int(one < other)


declare("semver::compareTo(semver) -> int", _compare, metered=True)


@overload("semver::isGreaterThan(semver) -> bool", metered=True)
def _is_greater(tracker: CostTracker, a: Semver, b: Semver) -> bool:
    return _compare(tracker, a, b) > 0


@overload("semver::isLessThan(semver) -> bool", metered=True)
def _is_less(tracker: CostTracker, a: Semver, b: Semver) -> bool:
    return _compare(tracker, a, b) < 0


declare("semver::major() -> int", lambda value: value.numbers[0])
declare("semver::minor() -> int", lambda value: value.numbers[1])
declare("semver::patch() -> int", lambda value: value.numbers[2])
