"""The demo as people see it: a picture that changes, lines where there is no terminal, and a summary."""

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
_GAP = 2
_MOST_ROWS = 10
"""Of cells in a zone; where they do not suffice, a cell stands for several nodes."""
_FIXED = 6
"""Lines that are always there: three headings, the legend, the queues, and the one that the cursor is in."""
_FEWEST, _MOST = 3, 8
_MARKS = {"Step": ("▶", ">"), "Placed": ("+", "+"), "Refused": ("?", "?"), "Evicted": ("x", "x")}
_STYLES = {"Step": "bold", "Placed": "green", "Refused": "yellow", "Evicted": "red"}


def live_view(glimpse: ClusterSummary, width: int, height: int, *, ascii_only: bool = False) -> RenderableType:
    """A picture for a terminal of so many columns and lines."""
    picture, rows = _map(glimpse.zones, width, ascii_only)
    lines = min(max((height - rows - _FIXED) // 2, _FEWEST), _MOST)
    reasons = [f"{count:>6,}  {reason}" for reason, count in glimpse.reasons[:lines]]
    entries = [_entry(entry, width, ascii_only) for entry in glimpse.entries[-lines:]]
    return Group(
        _header(glimpse, width),
        picture,
        _legend(ascii_only),
        _queues(glimpse.queues),
        Text("Pods wait because of", "bold"),
        *_padded((Text(_cut(reason, width)) for reason in reasons), lines),
        Text("Lately", "bold"),
        *_padded(entries, lines),
    )


def plain_line(glimpse: ClusterSummary) -> str:
    """The same in a line, for logs."""
    queues = ", ".join(f"{name} {count:,}" for name, count in glimpse.queues.items())
    use = ", ".join(f"{zone.name} {zone.cpu:.0%}" for zone in glimpse.zones)
    return f"{glimpse.elapsed:5.1f} s  {glimpse.pods:,} pods on {glimpse.nodes:,} nodes; {queues}; cpu {use}"


def final_lines(report: SimulationReport, glimpse: ClusterSummary, width: int | None) -> Iterator[Text]:
    """What it came to, on lines of that width or of any."""
    yield from folded(summary_line(report.summary), width)
    rate = f"{glimpse.rate:,.0f} a second of work"
    yield Text(f"{glimpse.decisions:,} decisions, {rate}, in {glimpse.elapsed:.0f} simulated seconds.")
    if glimpse.reasons:
        yield Text()
        yield from aligned(["PODS", "WAIT BECAUSE OF"], ([f"{count:,}", reason] for reason, count in glimpse.reasons))


def _header(glimpse: ClusterSummary, width: int) -> Text:
    parts = (
        f"{glimpse.elapsed:4.1f} s",
        f"{glimpse.pods:,} pods on {glimpse.nodes:,} nodes",
        f"{glimpse.evicted:,} evicted",
        f"{glimpse.rate:,.0f} decisions/s",
    )
    return Text(_cut(f"stowplan demo  {'  '.join(parts)}", width), "bold")


def _legend(ascii_only: bool) -> Text:
    empty, levels = _marks(ascii_only)
    line = Text(f"A cell is a node: {empty} empty ", "dim")
    for mark, colour in zip(levels, _COLOURS, strict=True):
        line.append(mark, colour)
    return line.append(" full")


def _marks(ascii_only: bool) -> tuple[str, str]:
    """What stands for an empty node, and for nodes from less to more full."""
    return (".", "01234567") if ascii_only else ("·", "▁▂▃▄▅▆▇█")


def _queues(queues: dict[str, int]) -> Text:
    line = Text("Queues  ", "bold")
    for name, count in queues.items():
        line.append(f"{name} ")
        line.append(f"{count:<6,}", "bold" if count else "")
    return line


def _map(zones: list[Zone], width: int, ascii_only: bool) -> tuple[Table, int]:
    """The zones side by side, a cell for each node; and how many lines that takes."""
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    if not zones:
        return grid, 0
    room = max(8, (width - 1) // len(zones) - _GAP)
    most = max(len(list(chain(*zone.pools.values()))) for zone in zones)
    share = -(-most // (room * _MOST_ROWS))
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
    """One character a node: higher and warmer the fuller it is."""
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
    """Always as many lines, so that the picture does not jump."""
    shown = list(lines)
    yield from shown
    for _ in range(count - len(shown)):
        yield Text()
