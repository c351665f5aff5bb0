"""The explanation of a placed pod as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.framework.explanation import (
    NodePoints,
    PlacedExplanation,
    PluginPoints,
    WeightThreshold,
    WithoutPlugin,
)
from stowplan.insight.text.layout import INDENT, Layout, counted, signed, source_lines, table
from stowplan.insight.text.pending import history_lines, pod_in_words


def placed_lines(explanation: PlacedExplanation, layout: Layout) -> Iterator[str]:
    """All parts of the explanation."""
    yield from layout.folded(f"{pod_in_words(explanation.pod)}: on {explanation.node}")
    yield ""
    yield from layout.folded(explanation.sentence)
    yield from layout.sentences(explanation.more)
    if explanation.points:
        yield ""
        yield "Points"
        yield from _points(explanation, layout)
        yield ""
        yield "Best nodes"
        yield from _ranking(explanation, layout)
    changes = [*map(_threshold_row, explanation.thresholds), *_without_rows(explanation)]
    if changes:
        yield ""
        yield (
            "What would make another node win"
            if explanation.as_of.recomputed
            else ("What would have made another node win")
        )
        yield from table([["PLUGIN", "CHANGE", "THEN WINS"], *changes])
    if explanation.again is not None:
        yield from layout.folded(_again(explanation), INDENT)
    if explanation.history:
        yield ""
        yield "Failed attempts before"
        yield from history_lines(explanation.history, explanation.as_of, layout)
    yield from source_lines(explanation.as_of, layout)


def points_text(points: NodePoints) -> str:
    """A raw score, without the decimals of whole numbers."""
    return f"{int(points.raw):,}" if points.raw == int(points.raw) else f"{points.raw:,.2f}"


def _points(explanation: PlacedExplanation, layout: Layout) -> list[str]:
    other = "ITS NODE" if explanation.second == explanation.node else "2ND"
    rows = [
        [
            each.plugin,
            points_text(each.winner),
            str(each.winner.normalized),
            str(each.weight),
            f"{each.winner.weighted:,}",
            "" if each.second is None else f"{each.second.weighted:,}",
            "" if each.second is None else signed(each.difference),
        ]
        for each in explanation.points
    ]
    lines = table([["PLUGIN", "RAW", "0-100", "WEIGHT", "POINTS", other, "+/-"], *rows], right=range(1, 7))
    if not layout.wide:
        return lines
    start = max(map(len, lines)) + len(INDENT)
    room = None if layout.width is None else layout.width - start
    words = [_words(each, room) for each in explanation.points]
    return [lines[0], *(f"{line:<{start}}{text}".rstrip() for line, text in zip(lines[1:], words, strict=True))]


def _words(points: PluginPoints, room: int | None) -> str:
    """The words about the winner and, where there is room for them, about the other node."""
    here, there = points.winner.text, "" if points.second is None else points.second.text
    both = f"{here}; there: {there}" if here and there and here != there else here
    return both if room is None or len(both) <= room else here


def _ranking(explanation: PlacedExplanation, layout: Layout) -> list[str]:
    first = explanation.ranking[0].points
    rows = [["", "NODE", "POINTS", "BEHIND", ""]]
    ranks: dict[int, int] = {}
    for number, each in enumerate(explanation.ranking[: layout.top], 1):
        equal = ranks.setdefault(each.points, number)
        notes = [
            "" if each.node != explanation.winner else "chosen" if each.node == explanation.node else "would be chosen",
            "its node" if each.node == explanation.node != explanation.winner else "",
            f"equal to {equal}" if equal != number else "",
        ]
        behind = signed(each.points - first) if each.points < first else ""
        rows.append([str(number), each.node, f"{each.points:,}", behind, ", ".join(filter(None, notes))])
    return table(rows, right=(0, 2, 3))


def weight_in_words(threshold: WeightThreshold) -> str:
    """`9 or more`, `2 or less`, `4 to 6`."""
    low, high = threshold.at_least, threshold.at_most
    if low and high:
        return str(low) if low == high else f"{low} to {high}"
    return f"{low} or more" if low else f"{high} or less"


def _threshold_row(threshold: WeightThreshold) -> list[str]:
    level = f" (level at {threshold.at_least or threshold.at_most})" if threshold.draws else ""
    return [threshold.plugin, f"weight {weight_in_words(threshold)}", f"{threshold.wins}{level}"]


def _without_rows(explanation: PlacedExplanation) -> Iterator[list[str]]:
    difference = {each.plugin: each.difference for each in explanation.points}
    for each in sorted(explanation.without, key=lambda each: -difference.get(each.plugin, 0)):
        yield [each.plugin, "switched off", _then(each, explanation.winner)]


def _then(without: WithoutPlugin, winner: str) -> str:
    who = "the same node" if without.wins == winner else without.wins
    return f"{who}, by {without.by:,}" if without.by else f"{who}, level with another"


def _again(explanation: PlacedExplanation) -> str:
    again = explanation.again
    assert again is not None
    if not again.node:
        return "If it were placed again now: no node would do."
    node = "the same node" if again.node == explanation.node else again.node
    by = f"by {counted(again.by, 'point')}" if again.by else "level with another"
    return f"If it were placed again now: {node}, {by}."
