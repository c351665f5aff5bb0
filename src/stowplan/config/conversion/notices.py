"""What a reader of a converted configuration should know: where it cannot mean quite what the original meant."""

from collections.abc import Iterable
from typing import NamedTuple


class Notice(NamedTuple):
    """One remark, with the place in the original that it is about."""

    source: str
    path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class Notices:
    """Collects remarks about one source."""

    def __init__(self, source: str, items: Iterable[Notice] = ()) -> None:
        self.source = source
        self.items = list(items)

    def add(self, path: str, message: str) -> None:
        notice = Notice(self.source, path, message)
        if notice not in self.items:
            self.items.append(notice)
