"""The answer to `why-not` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.framework.explanation import CheckedChange, Standing, WeightThreshold, WhyNot
from stowplan.insight.text.layout import INDENT, Layout, counted, signed, source_lines, table
from stowplan.insight.text.placed import weight_in_words


def why_not_lines(answer: WhyNot, layout: Layout) -> Iterator[str]:
    """All parts of the answer."""
    yield from layout.folded(answer.sentence)
    yield from layout.sentences(answer.more)
    if answer.rules or answer.silent:
        yield ""
        yield "Rules"
        yield from _rules(answer, layout)
    if answer.changes:
        yield ""
        yield "It would fit with one of"
        yield from table([[each.change.text, "checked"] for each in answer.changes])
        yield ""
        yield "And it would be chosen"
        for each in answer.changes:
            if each.then is not None:
                yield from layout.folded(_then(each, each.then), INDENT, hanging=INDENT * 2)
    if answer.fits:
        yield from _points(answer, layout)
    yield from source_lines(answer.as_of, layout)


def _rules(answer: WhyNot, layout: Layout) -> Iterator[str]:
    rows = [["", "PLUGIN", "WANTED", "THERE"]]
    texts = []
    for rule in answer.rules:
        there = rule.there
        if not rule.ok and not rule.wanted and not rule.there:
            texts.append(rule.text)
            there = rule.text
        rows.append(["ok" if rule.ok else "NO", rule.plugin, rule.wanted, there])
    if answer.rules:
        yield from table(rows)
    if answer.silent:
        yield from layout.folded(f"nothing to say: {', '.join(answer.silent)}", INDENT)
    if answer.not_run:
        yield from layout.folded(f"not run: {', '.join(answer.not_run)}", INDENT)


def _then(checked: CheckedChange, then: Standing) -> str:
    return f"with {checked.change.text}: {_standing(then)}."


def _standing(then: Standing) -> str:
    if not then.first:
        return "yes, it is the only node that does"
    if then.behind < 0:
        return f"yes, {counted(-then.behind, 'point')} ahead of {then.first}"
    if then.behind == 0:
        return f"perhaps, it has as many points as {then.first}"
    return f"no, rank {then.rank:,} of {then.of:,}, {counted(then.behind, 'point')} behind {then.first}"


def _points(answer: WhyNot, layout: Layout) -> Iterator[str]:
    standing = answer.standing
    rows = [
        [each.plugin, f"{each.second.weighted:,}", f"{each.winner.weighted:,}", signed(-each.difference)]
        for each in sorted(answer.points, key=lambda each: -each.difference)
        if each.second is not None and each.difference
    ]
    if rows and standing is not None:
        yield ""
        yield "Where the points went"
        other = "WINNER" if standing.behind > 0 else "2ND"
        yield from table([["PLUGIN", "HERE", other, "+/-"], *rows], right=(1, 2, 3))
    if standing is not None and standing.behind > 0:
        yield ""
        if answer.thresholds:
            yield "It would win with one of"
            for threshold in answer.thresholds:
                yield from layout.folded(_weight(threshold), INDENT)
        else:
            yield "No weight of a single plugin would make it win."


def _weight(threshold: WeightThreshold) -> str:
    level = f" (level at {threshold.at_least or threshold.at_most})" if threshold.draws else ""
    return f"weight of {threshold.plugin} {weight_in_words(threshold)} instead of {threshold.weight}{level}"
