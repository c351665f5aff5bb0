"""Near spellings of a name: a typing error, or another case, separator or prefix (before `/`)."""

from __future__ import annotations

from collections.abc import Iterable

MAX_EDITS = 2
"""Inserted, deleted and replaced characters."""

_SEPARATORS = str.maketrans("", "", "-_.")


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that look like the name, the nearest first."""
    found = []
    for other in known:
        distance = 0 if _plain(other) == _plain(name) else edit_distance(name, other)
        if other != name and distance <= min(MAX_EDITS, len(name) // 3):
            found.append((distance, other))
    return [other for _, other in sorted(found)]


def is_near(name: str, other: str) -> bool:
    """Whether two different names look alike."""
    return bool(near_names(name, (other,)))


def edit_distance(a: str, b: str) -> int:
    """The Levenshtein distance; `MAX_EDITS` + 1 stands for everything above."""
    if abs(len(a) - len(b)) > MAX_EDITS:
        return MAX_EDITS + 1
    row = list(range(len(b) + 1))
    for number, left in enumerate(a, 1):
        before, row[0] = row[0], number
        for position, right in enumerate(b, 1):
            before, row[position] = (
                row[position],
                min(row[position] + 1, row[position - 1] + 1, before + (left != right)),
            )
        if min(row) > MAX_EDITS:
            return MAX_EDITS + 1
    return min(row[-1], MAX_EDITS + 1)


def _plain(name: str) -> str:
    return name.rpartition("/")[2].lower().translate(_SEPARATORS)
