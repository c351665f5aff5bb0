"""A comparison as text: an aligned table, Markdown, LaTeX, JUnit, HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from xml.sax.saxutils import quoteattr

from stowplan.simulator.scenario.quantities import time_text
from stowplan.study.compare import ComparedMetric, FailRule, MetricDifference, RunComparison
from stowplan.study.html import charts, page, table

_MINUS = "\N{MINUS SIGN}"
_LATEX = str.maketrans({"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "±": r"$\pm$", "…": r"\ldots", _MINUS: "$-$"})


def _text(value: float, unit: str, *, signed: bool = False) -> str:
    if math.isnan(value):
        return "-"
    sign = _MINUS if value < 0 else "+" if signed else ""
    size = abs(value)
    if unit == "s":
        return sign + time_text(size)
    return sign + (f"{size:,.0f}" if size == round(size) and size < 1e15 else f"{size:,.4g}")


def comparison_rows(comparison: RunComparison) -> list[list[str]]:
    """The table of a comparison: means, then difference and verdict of each configuration but the baseline."""
    variants = comparison.variants
    several = len(comparison.seeds) > 1
    heads = ["METRIC", *variants]
    for name in variants[1:]:
        heads += [f"DIFFERENCE (95 %){'' if len(variants) == 2 else ' ' + name}", ""]
    rows = [heads]
    for each in comparison.metrics:
        row = [each.label]
        for name in variants:
            row.append(_text(each.means[name], each.unit))
            if several and each.errors[name]:
                row[-1] += f" ±{_text(each.errors[name], each.unit)}"
        for found in each.differences:
            row += [_difference(found, each.unit, several=several), found.verdict if several else ""]
        rows.append(row)
    return rows


def _difference(found: MetricDifference, unit: str, *, several: bool) -> str:
    mean = _text(found.mean, unit, signed=True)
    if not several or not found.mean:
        return mean if found.mean else "0"
    return f"{mean} ({_text(found.low, unit, signed=True)} … {_text(found.high, unit, signed=True)})"


def placement_lines(comparison: RunComparison) -> list[str]:
    lines = []
    for each in comparison.placements:
        share = each.elsewhere / each.pods if each.pods else 0.0
        line = f"{each.variant}: {share:.1%} of {each.pods:,} pods are placed elsewhere"
        if each.first is not None:
            first = each.first
            line += f"; first at {time_text(first.time)} with seed {first.seed}: pod {first.pod}"
        lines.append(line)
    if len(comparison.seeds) == 1:
        lines.append("One seed gives no intervals: use --seeds.")
    return lines


def markdown(comparison: RunComparison) -> str:
    rows = comparison_rows(comparison)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join([*lines, "", *placement_lines(comparison)]) + "\n"


def latex(comparison: RunComparison) -> str:
    """A table for the package booktabs."""
    rows = [[cell.translate(_LATEX) for cell in row] for row in comparison_rows(comparison)]
    lines = [" & ".join(row) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    body = "\n".join(lines[1:])
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{lines[0]}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )


def html(comparison: RunComparison) -> str:
    groups = [(name, comparison.results[name]) for name in comparison.variants]
    body = (
        f"<h1>{escape(comparison.scenario)}: {escape(' and '.join(comparison.variants))}</h1>\n"
        + f'<p class="note">Seeds: {", ".join(map(str, comparison.seeds))}. Bands are the range over seeds.</p>\n'
        + table(comparison_rows(comparison))
        + "".join(f"<p>{escape(line)}</p>\n" for line in placement_lines(comparison))
        + charts(groups)
    )
    return page(comparison.scenario, body)


def junit(comparison: RunComparison, rules: Sequence[FailRule]) -> str:
    """One case for each rule of --fail-if, or else for each metric, which fails if it is worse."""
    cases = [(f"{rule.metric} worse {rule.share:.0%}", rule.broken_by(comparison)) for rule in rules]
    if not rules:
        cases = [(each.label, _worse(each)) for each in comparison.metrics]
    failures = sum(bool(problems) for _, problems in cases)
    texts = [
        f"<testcase classname={quoteattr(comparison.scenario)} name={quoteattr(name)}>"
        + "".join(f"<failure message={quoteattr(problem)}/>" for problem in problems)
        + "</testcase>"
        for name, problems in cases
    ]
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name={quoteattr(comparison.scenario)} '
        f'tests="{len(cases)}" failures="{failures}">{"".join(texts)}</testsuite></testsuites>\n'
    )


def _worse(each: ComparedMetric) -> list[str]:
    return [
        f"{found.variant}: {_difference(found, each.unit, several=True)}"
        for found in each.differences
        if found.verdict == "worse"
    ]
