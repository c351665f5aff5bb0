"""Rendering of the demo: a live view, plain lines without a terminal, and final tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stowplan.simulator.demo.cluster_summary import ClusterSummary, Zone
from stowplan.simulator.demo.recent_events import RecentEvent
from stowplan.simulator.report.report import SimulationReport
from stowplan.simulator.report.tables import aligned, folded, summary_line

_COLOURS = ("grey50", "blue", "cyan", "green", "green", "yellow", "yellow", "red")
_COLUMN_GAP = 2
_MAX_CELL_ROWS = 10
"""Rows of cells in a zone; a larger zone has several nodes per cell."""
_FIXED_LINES = 6
"""Three headings, the legend, the queues, and the line of the cursor."""
_MIN_LIST_LINES, _MAX_LIST_LINES = 3, 8
_MARKS = {"Step": ("▶", ">"), "Placed": ("+", "+"), "Refused": ("?", "?"), "Evicted": ("x", "x")}
_STYLES = {"Step": "bold", "Placed": "green", "Refused": "yellow", "Evicted": "red"}


def live_view(summary: ClusterSummary, width: int, height: int, *, ascii_only: bool = False) -> RenderableType:
    """The live view for a terminal of this size."""
    picture, rows = _map(summary.zones, width, ascii_only)
    lines = min(max((height - rows - _FIXED_LINES) // 2, _MIN_LIST_LINES), _MAX_LIST_LINES)
    reasons = [f"{count:>6,}  {reason}" for reason, count in summary.reasons[:lines]]
    entries = [_entry(entry, width, ascii_only) for entry in summary.entries[-lines:]]
    return Group(
        _header(summary, width),
        picture,
        _legend(ascii_only),
        _queues(summary.queues),
        Text("Pods wait because of", "bold"),
        *_padded((Text(_cut(reason, width)) for reason in reasons), lines),
        Text("Lately", "bold"),
        *_padded(entries, lines),
    )


def plain_line(summary: ClusterSummary) -> str:
    """One line, for logs."""
    queues = ", ".join(f"{name} {count:,}" for name, count in summary.queues.items())
    use = ", ".join(f"{zone.name} {zone.cpu:.0%}" for zone in summary.zones)
    return f"{summary.elapsed:5.1f} s  {summary.pods:,} pods on {summary.nodes:,} nodes; {queues}; cpu {use}"


def final_lines(report: SimulationReport, summary: ClusterSummary, width: int | None) -> Iterator[Text]:
    """The summary at the end, wrapped to the width if given."""
    yield from folded(summary_line(report.summary), width)
    rate = f"{summary.rate:,.0f} a second of work"
    yield Text(f"{summary.decisions:,} decisions, {rate}, in {summary.elapsed:.0f} simulated seconds.")
    if summary.reasons:
        yield Text()
        yield from aligned(["PODS", "WAIT BECAUSE OF"], ([f"{count:,}", reason] for reason, count in summary.reasons))


def _header(summary: ClusterSummary, width: int) -> Text:
    parts = (
        f"{summary.elapsed:4.1f} s",
        f"{summary.pods:,} pods on {summary.nodes:,} nodes",
        f"{summary.evicted:,} evicted",
        f"{summary.rate:,.0f} decisions/s",
    )
    return Text(_cut(f"stowplan demo  {'  '.join(parts)}", width), "bold")


def _legend(ascii_only: bool) -> Text:
    empty, levels = _marks(ascii_only)
    line = Text(f"A cell is a node: {empty} empty ", "dim")
    for mark, colour in zip(levels, _COLOURS, strict=True):
        line.append(mark, colour)
    return line.append(" full")


def _marks(ascii_only: bool) -> tuple[str, str]:
    """The mark of an empty node, and marks by increasing fill."""
    return (".", "01234567") if ascii_only else ("·", "▁▂▃▄▅▆▇█")


def _queues(queues: dict[str, int]) -> Text:
    line = Text("Queues  ", "bold")
    for name, count in queues.items():
        line.append(f"{name} ")
        line.append(f"{count:<6,}", "bold" if count else "")
    return line


def _map(zones: list[Zone], width: int, ascii_only: bool) -> tuple[Table, int]:
    """The zones side by side with a cell for each node; and the number of lines."""
    grid = Table.grid(padding=(0, _COLUMN_GAP, 0, 0))
    if not zones:
        return grid, 0
    room = max(8, (width - 1) // len(zones) - _COLUMN_GAP)
    most = max(len(list(chain(*zone.pools.values()))) for zone in zones)
    share = -(-most // (room * _MAX_CELL_ROWS))
    for _ in zones:
        grid.add_column(width=room, no_wrap=True)
    grid.add_row(*(Text(f"{zone.name}  cpu {zone.cpu:.0%}", "bold") for zone in zones))
    lines = 1
    for pool in dict.fromkeys(pool for zone in zones for pool in zone.pools):
        each = "" if share == 1 else f", {share} a cell"
        grid.add_row(*(Text(f"{pool} ({len(zone.pools.get(pool, ()))}{each})", "dim") for zone in zones))
        cells = [_cells(zone.pools.get(pool, []), share, room, ascii_only) for zone in zones]
        grid.add_row(*cells)
        lines += 1 + max(text.plain.count("\n") + 1 for text in cells)
    return grid, lines


def _cells(fills: list[float], share: int, room: int, ascii_only: bool) -> Text:
    """One character per node, by its fill."""
    text = Text()
    empty, levels = _marks(ascii_only)
    averages = [sum(part) / len(part) for part in (fills[i : i + share] for i in range(0, len(fills), share))]
    for index, fill in enumerate(averages):
        if index and index % room == 0:
            text.append("\n")
        level = min(int(fill * len(levels)), len(levels) - 1)
        text.append(levels[level] if fill > 0 else empty, _COLOURS[level])
    return text


def _entry(entry: RecentEvent, width: int, ascii_only: bool) -> Text:
    mark = _MARKS[entry.kind][ascii_only]
    return Text(_cut(f"{entry.time:6.1f}  {mark} {entry.text}", width), _STYLES[entry.kind])


def _cut(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: width - 4]}..."


def _padded(lines: Iterable[Text], count: int) -> Iterator[Text]:
    """A constant number of lines, so that the view does not jump."""
    shown = list(lines)
    yield from shown
    for _ in range(count - len(shown)):
        yield Text()
