"""A result as text: the summary as a table, and expectations as JUnit XML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from stowplan.simulator.scenario.quantities import time_text
from stowplan.study.metric_value import MetricValue
from stowplan.study.metrics import UTILISATIONS
from stowplan.study.result import RunResult

_HEADLINES = (
    "jobs", "unfinished", "jct.mean", "jct.p95", "slowdown.mean", "makespan", "throughput", "pods.pending", "wait.mean",
    "wait.p50", "wait.p95", "wait.p99", "wait.max", "pending", "pending.max", "running", "nodes", "nodes.max",
    "nodes.used", "cost", *UTILISATIONS, "imbalance.cpu",
    "preemptions", "evictions", "lost.cpu", "attempts", "fairness.jain",
)  # fmt: skip
_GROUP_COLUMNS = ("jobs", "unfinished", "wait.mean", "wait.p95", "jct.mean", "jct.p95", "preemptions", "evictions")
_ZERO_IS_SILENT = ("preemptions", "evictions", "lost.cpu", "cost", "pods.pending")


def shown(value: MetricValue) -> str:
    """A value with its unit."""
    if math.isnan(value.value):
        return "-"
    if value.unit == "s":
        return time_text(value.value)
    number = f"{value.value:,.0f}" if value.value == round(value.value) else f"{value.value:,.4g}"
    return f"{number}{value.unit}" if value.unit.startswith("/") else f"{number} {value.unit}".rstrip()


def summary_rows(result: RunResult, *, everything: bool) -> list[tuple[str, str]]:
    """Metrics of the whole run; the most important ones, or all."""
    values = {each.metric: each for each in result.of_key("")}
    names = list(values) if everything else [name for name in _HEADLINES if name in values]
    kept = [name for name in names if everything or values[name].value or name not in _ZERO_IS_SILENT]
    return [("METRIC", "VALUE"), *((name, shown(values[name])) for name in kept)]


def group_rows(result: RunResult) -> list[tuple[str, ...]]:
    """One row for each workload, tenant and priority; empty if there are none."""
    keys = list(dict.fromkeys(each.key for each in result.values if each.key))
    if len(keys) < 2:
        return []
    rows: list[tuple[str, ...]] = [("GROUP", *(name.upper() for name in _GROUP_COLUMNS))]
    for key in keys:
        values = {each.metric: each for each in result.of_key(key)}
        rows.append((key, *(shown(values[name]) if name in values else "-" for name in _GROUP_COLUMNS)))
    return rows


def headline(result: RunResult) -> str:
    state = ", not complete: an error ended the run" if result.error else ""
    return f"{result.scenario}, seed {result.seed}: {time_text(result.end)} simulated, run {result.digest}{state}"


def expectation_lines(result: RunResult) -> Iterator[str]:
    for each in result.expectations:
        yield f"{'ok    ' if each.holds else 'FAILED'}  {each.text}: found {each.found}"


def junit(results: Sequence[RunResult]) -> str:
    """JUnit XML: one suite for each run, one case for each expectation, and one for an error that ended the run."""
    suites = []
    for result in results:
        cases = []
        for each in result.expectations:
            failure = "" if each.holds else f"<failure message={quoteattr('found ' + each.found)}/>"
            cases.append(f"<testcase classname={quoteattr(result.scenario)} name={quoteattr(each.text)}>{failure}"
                         f"<system-out>{escape('found ' + each.found)}</system-out></testcase>")  # fmt: skip
        if result.error:
            error = f"<error message={quoteattr(result.error)}/>"
            cases.append(f'<testcase classname={quoteattr(result.scenario)} name="the run">{error}</testcase>')
        failures = sum(not each.holds for each in result.expectations)
        errors = ' errors="1"' if result.error else ""
        suites.append(
            f'<testsuite name={quoteattr(f"{result.scenario} seed {result.seed}")} tests="{len(cases)}" '
            f'failures="{failures}"{errors}>{"".join(cases)}</testsuite>'
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>{"".join(suites)}</testsuites>\n'
