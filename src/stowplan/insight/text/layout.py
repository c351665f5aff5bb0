"""Layout of text: folded sentences, tables as wide as they need, bars."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from stowplan.framework.explanation import AsOf

MANIFESTS = "manifests"
"""The source of answers about manifests alone."""
WIDE_COLUMNS = 100
"""From this width on, tables have bars and further columns."""
INDENT = "  "
_BAR_CELLS = 24
_MIN_FOLDED_WIDTH = 16
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Layout(NamedTuple):
    """How wide the text is, and how long its lists are."""

    width: int | None = None
    """Sentences are folded here; None: never."""
    top: int = 5
    """The length of lists."""
    always_wide: bool = False

    @property
    def wide(self) -> bool:
        """Whether tables have bars and further columns."""
        return self.always_wide or self.width is None or self.width >= WIDE_COLUMNS

    def folded(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """The text in lines; `hanging` is the indent of all lines but the first."""
        if self.width is None:
            return [indent + text]
        hanging = indent if hanging is None else hanging
        return wrap(text, self.width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)

    def sentences(self, texts: Sequence[str], indent: str = "") -> Iterator[str]:
        for text in texts:
            yield from self.folded(text, indent)


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows in columns, two spaces apart; columns in `right` are aligned to the right. Empty columns are left out."""
    columns = [column for column in range(len(rows[0])) if any(row[column] for row in rows)] if rows else []
    widths = {column: max(len(row[column]) for row in rows) for column in columns}
    return [
        (
            INDENT
            + INDENT.join(
                row[column].rjust(widths[column]) if column in right else row[column].ljust(widths[column])
                for column in columns
            )
        ).rstrip()
        for row in rows
    ]


def folded_table(rows: Sequence[Sequence[str]], width: int, foldable: Sequence[int]) -> list[str]:
    """The table within the width: cells of the columns in `foldable` are folded, each into an equal share of the room
    that the other columns leave, or as wide as its text."""
    natural = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    fixed = [size for column, size in enumerate(natural) if size and column not in foldable]
    open_columns = sorted((column for column in foldable if natural[column]), key=lambda column: natural[column])
    room = width - sum(fixed) - len(INDENT) * (len(fixed) + len(open_columns))
    sizes = {}
    for number, column in enumerate(open_columns):
        share = max(_MIN_FOLDED_WIDTH, room // (len(open_columns) - number))
        sizes[column] = min(natural[column], share)
        room -= sizes[column]
    lines: list[list[str]] = []
    for row in rows:
        cells = [_cell(text, sizes.get(column)) for column, text in enumerate(row)]
        height = max(map(len, cells))
        lines += [[cell[line] if line < len(cell) else "" for cell in cells] for line in range(height)]
    return table(lines)


def _cell(text: str, size: int | None) -> list[str]:
    return [text] if size is None else wrap(text, size, break_on_hyphens=False) or [""]


def bar(part: int, whole: int) -> str:
    """A bar of 24 cells, in eighths of a cell."""
    eighths = round(part / whole * _BAR_CELLS * 8) if whole else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(_BAR_CELLS)


def source_lines(as_of: AsOf, layout: Layout) -> Iterator[str]:
    """Where an answer about a cluster comes from; nothing about manifests and running schedulers."""
    if as_of.source and as_of.source != MANIFESTS:
        read = f" from {as_of.source}" + (f" as of {as_of.time}" if as_of.time else "")
        text = f"Computed{read} by {as_of.by}; the cluster's scheduler may be configured otherwise."
        yield ""
        yield from layout.folded(text)


def counted(number: int, noun: str) -> str:
    """`1 node`, `1,234 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def signed(number: int) -> str:
    return f"{number:+,}" if number else "0"
