"""Notices about differences between a converted configuration and its original."""

from collections.abc import Iterable
from typing import NamedTuple


class Notice(NamedTuple):
    """One notice with its path in the original."""

    source: str
    path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class Notices:
    """Collects the notices of one source."""

    def __init__(self, source: str, items: Iterable[Notice] = ()) -> None:
        self.source = source
        self.items = list(items)

    def add(self, path: str, message: str) -> None:
        notice = Notice(self.source, path, message)
        if notice not in self.items:
            self.items.append(notice)
