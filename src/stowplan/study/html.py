"""A report of one or several runs as one HTML file that needs no other file and no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from stowplan.study.metrics import UTILISATIONS
from stowplan.study.result import RunResult
from stowplan.study.svg import ChartLine, chart, distribution
from stowplan.study.texts import expectation_lines, group_rows, headline, summary_rows

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 Inter, system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  font-variant-numeric: tabular-nums; color: light-dark(#10161f, #eef2f6); background: light-dark(#fff, #0c1117); }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; } th, td { text-align: right; padding: .15rem 1rem .15rem 0;
  border-bottom: 1px solid light-dark(#dde2e9, #2a333e); } th:first-child, td:first-child { text-align: left; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }
svg { width: 100%; background: light-dark(#fff, #151b23); border: 1px solid light-dark(#dde2e9, #2a333e);
  border-radius: 8px; } svg text { font-size: 11px; fill: light-dark(#546070, #9aa6b4); }
svg .title { font-size: 13px; font-weight: 650; fill: light-dark(#10161f, #eef2f6); }
svg .grid { stroke: light-dark(#e2e7ec, #1b232d); } .better { color: light-dark(#0f6a3a, #62d995); }
.worse { color: light-dark(#b93a21, #ff8a70); } .note { color: light-dark(#546070, #9aa6b4); }
"""
_SERIES = ("pending", "running", "nodes", *UTILISATIONS, "fragmentation.largest.cpu", "imbalance.cpu")  # fmt: skip


def page(title: str, body: str) -> str:
    """A complete document."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its heading."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td{_mark(cell)}>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n"


def _mark(cell: str) -> str:
    return f' class="{cell}"' if cell in ("better", "worse") else ""


def result_page(results: Sequence[RunResult]) -> str:
    """The report of a run: summary, groups, expectations, charts."""
    first = results[0]
    parts = [f"<h1>{escape(headline(first))}</h1>\n", f"<p class=note>Configuration: {escape(first.config)}</p>\n"]
    if first.expectations:
        parts.append("<h2>Expectations</h2>\n<pre>" + escape("\n".join(expectation_lines(first))) + "</pre>\n")
    parts.append(charts([(str(result.seed), [result]) for result in results]))
    parts.append("<h2>Summary</h2>\n" + table(summary_rows(first, everything=False)))
    if groups := group_rows(first):
        parts.append("<h2>Groups</h2>\n" + table(groups))
    return page(first.scenario, "".join(parts))


def charts(groups: Sequence[tuple[str, Sequence[RunResult]]]) -> str:
    """Series over time and distributions, one line for each group of runs, with a band over its seeds."""
    parts = [chart(name, [each for each in _lines(name, groups) if len(each.times)]) for name in _SERIES]
    for name, column in (("wait, share of pods", "waited_s"), ("job completion time, share of jobs", "jct_s")):
        parts.append(chart(name, [distribution(label, _column(runs, column)) for label, runs in groups]))
    return f'<div class="charts">\n{"".join(parts)}</div>\n'


def _column(runs: Iterable[RunResult], column: str) -> list[float]:
    return [
        value
        for run in runs
        for value in (run.pods if column in run.pods.columns else run.jobs)[column].tolist()
        if math.isfinite(value)
    ]


def _lines(metric: str, groups: Sequence[tuple[str, Sequence[RunResult]]]) -> Iterable[ChartLine]:
    for label, runs in groups:
        series = [run.series_of(metric) for run in runs]
        times = min((each[0] for each in series), key=len, default=[])
        if not times or not any(value for each in series for value in each[1]):
            continue
        columns = list(zip(*(values[: len(times)] for _, values in series), strict=True))
        means = [math.fsum(column) / len(column) for column in columns]
        if len(runs) == 1:
            yield ChartLine(label, times, means)
        else:
            yield ChartLine(label, times, means, [min(each) for each in columns], [max(each) for each in columns])
