"""Rendering of the nodes: zones side by side, pools below each other, a character for each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from stowplan.simulator.watch.node_cells import CORDONED, DEAD, WITHOUT_LABEL, NodeCell, Zone

_COLOURS = ("#7c8b96", "#6c99a6", "#58a2ac", "#45a8ae", "#3ca3bb", "#4598c9", "#5a8cd6", "#7480e0")
"""From empty to full. Red is reserved for failed nodes."""
_STATES = {DEAD: ("✕", "x", "bold red"), CORDONED: ("□", "#", "yellow")}
"""Mark, mark in ASCII, and style."""
_COLUMN_GAP = 2
_MIN_COLUMN_WIDTH = 18
_MIN_CELL_ROWS, _MAX_CELL_ROWS = 2, 10
"""Rows of cells in a zone; a larger zone has several nodes per cell."""
_OTHER_LINES = 15
"""Lines of the view beside the map."""


def map_lines(zones: Sequence[Zone], width: int, height: int, ascii_only: bool) -> list[Text]:
    """The zones side by side, in bands where not all of them fit."""
    if not zones:
        return []
    per_band = max(1, min(len(zones), (width - 1) // (_MIN_COLUMN_WIDTH + _COLUMN_GAP)))
    bands = [zones[first : first + per_band] for first in range(0, len(zones), per_band)]
    room = max(8, (width - 1) // per_band - _COLUMN_GAP)
    rows = min(max((height - _OTHER_LINES) // len(bands), _MIN_CELL_ROWS), _MAX_CELL_ROWS)
    most = max(sum(map(len, zone.pools.values())) for zone in zones)
    share = -(-most // (room * rows))
    return [line for band in bands for line in _band(band, share, room, ascii_only)]


def _band(zones: Sequence[Zone], share: int, room: int, ascii_only: bool) -> Iterator[Text]:
    yield _row([Text(f"{_name(zone.name, 'nodes')}  cpu {zone.cpu:.0%}", "bold") for zone in zones], room)
    for pool in dict.fromkeys(pool for zone in zones for pool in zone.pools):
        found = [zone.pools.get(pool, []) for zone in zones]
        each = "" if share == 1 else f", {share} a cell"
        if pool != WITHOUT_LABEL or len(zones[0].pools) > 1:
            headings = (f"{_name(pool, 'other')} ({len(cells)}{each})" if cells else "" for cells in found)
            yield _row([Text(heading, "dim") for heading in headings], room)
        shown = [_joined(cells, share) for cells in found]
        for first in range(0, max(map(len, shown)), room):
            yield _row([_cells(cells[first : first + room], ascii_only) for cells in shown], room)


def _name(label: str, without: str) -> str:
    return without if label == WITHOUT_LABEL else label


def _row(parts: list[Text], room: int) -> Text:
    line = Text()
    for part in parts:
        part.truncate(room, pad=True)
        line.append_text(part).append(" " * _COLUMN_GAP)
    line.rstrip()
    return line


def _joined(cells: list[NodeCell], share: int) -> list[NodeCell]:
    """One cell for each `share` nodes: their mean fill; a dead node marks its cell."""
    return [_mean(cells[first : first + share]) for first in range(0, len(cells), share)]


def _mean(cells: list[NodeCell]) -> NodeCell:
    state = DEAD if any(cell.state == DEAD for cell in cells) else cells[0].state
    return NodeCell(sum(cell.fill for cell in cells) / len(cells), state)


def _cells(cells: list[NodeCell], ascii_only: bool) -> Text:
    text = Text()
    empty, levels = _marks(ascii_only)
    for cell in cells:
        if cell.state in _STATES:
            text.append(_STATES[cell.state][ascii_only], _STATES[cell.state][2])
            continue
        level = min(int(cell.fill * len(levels)), len(levels) - 1)
        text.append(levels[level] if cell.fill > 0 else empty, _COLOURS[level])
    return text


def _marks(ascii_only: bool) -> tuple[str, str]:
    """The mark of an empty node, and marks by increasing fill."""
    return (".", "01234567") if ascii_only else ("·", "▁▂▃▄▅▆▇█")


def legend(ascii_only: bool) -> Text:
    """The meaning of the cells."""
    empty, levels = _marks(ascii_only)
    line = Text(f"A cell is a node: {empty} empty ", "dim")
    for mark, colour in zip(levels, _COLOURS, strict=True):
        line.append(mark, f"not dim {colour}")
    line.append(" full")
    for state, marks in _STATES.items():
        line.append("  ").append(marks[ascii_only], f"not dim {marks[2]}").append(f" {state}")
    return line
