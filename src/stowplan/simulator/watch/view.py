"""Rendering of a watched run: a live view, plain lines without a terminal, and final tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from stowplan.simulator.report.report import SimulationReport
from stowplan.simulator.report.tables import aligned, folded, summary_line
from stowplan.simulator.watch.cluster_summary import ClusterSummary
from stowplan.simulator.watch.node_map import legend, map_lines
from stowplan.simulator.watch.recent_events import RecentEvent

_FIXED_LINES = 7
"""Three headings, the legend, the queues, the keys, and the line of the cursor."""
_GAP_LINES = 3
_ROOMY_HEIGHT = 30
"""Terminals of this height have empty lines between the parts."""
_MIN_LIST_LINES, _MAX_LIST_LINES = 3, 8
_MARKS = {"Step": ("▶", ">"), "Placed": ("+", "+"), "Refused": ("?", "?"), "Evicted": ("↺", "x")}
_MARK_STYLES = {"Step": "bold", "Placed": "cyan", "Refused": "yellow", "Evicted": "magenta"}


def live_view(
    summary: ClusterSummary, width: int, height: int, *, ascii_only: bool = False, keys: str = ""
) -> RenderableType:
    """The live view for a terminal of this size; `keys` is its last line."""
    picture = map_lines(summary.zones, width, height, ascii_only)
    gap = [Text()] if height >= _ROOMY_HEIGHT else []
    free = height - len(picture) - _FIXED_LINES - _GAP_LINES * len(gap)
    lines = min(max(free // 2, _MIN_LIST_LINES), _MAX_LIST_LINES)
    reasons = [f"{count:>6,}  {reason}" for reason, count in summary.reasons[:lines]]
    entries = [_entry(entry, width, ascii_only) for entry in summary.entries[-lines:]]
    return Group(
        _header(summary, width),
        *gap,
        *picture,
        legend(ascii_only),
        *gap,
        _queues(summary, width),
        Text("Pods wait because of", "bold"),
        *_padded((Text(_cut(reason, width)) for reason in reasons), lines),
        *gap,
        Text("Lately", "bold"),
        *_padded(entries, lines),
        Text(_cut(keys, width), "dim"),
    )


def plain_line(summary: ClusterSummary) -> str:
    """One line, for logs."""
    queues = ", ".join(f"{name} {count:,}" for name, count in summary.queues.items())
    use = ", ".join(f"{zone.name} {zone.cpu:.0%}" for zone in summary.zones)
    gpus = f"{_gpus(summary)}; " if summary.gpus[1] else ""
    return f"{summary.elapsed:5.1f} s  {summary.pods:,} pods on {summary.nodes:,} nodes; {queues}; {gpus}cpu {use}"


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
    return Text(_cut(f"{summary.title}  {'  '.join(parts)}", width), "bold")


def _gpus(summary: ClusterSummary) -> str:
    return f"GPUs {summary.gpus[0]:,}/{summary.gpus[1]:,}"


def _queues(summary: ClusterSummary, width: int) -> Text:
    line = Text("Queues  ", "bold")
    for name, count in summary.queues.items():
        line.append(f"{name} ", "not bold")
        line.append(f"{count:<6,}", "bold" if count else "dim not bold")
    if summary.gpus[1]:
        line.append(_gpus(summary), "not bold")
    line.truncate(width)
    return line


def _entry(entry: RecentEvent, width: int, ascii_only: bool) -> Text:
    mark = _MARKS[entry.kind][ascii_only]
    line = Text(f"{entry.time:6.1f}  ", "dim")
    line.append(mark, f"not dim {_MARK_STYLES[entry.kind]}")
    text = _cut(f" {entry.text}", width - len(line))
    return line.append(text, "not dim bold" if entry.kind == "Step" else "not dim")


def _cut(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: width - 4]}..."


def _padded(lines: Iterable[Text], count: int) -> Iterator[Text]:
    """A constant number of lines, so that the view does not jump."""
    shown = list(lines)
    yield from shown
    for _ in range(count - len(shown)):
        yield Text()
