"""Answers of `diff` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.simulator.report.resources import percentage
from stowplan.simulator.what_if.diff import largest_differences
from stowplan.simulator.what_if.records import DiffAnswer, Totals
from stowplan.simulator.what_if.text import folded, short, spread_lines, table, titled

_MAX_PODS_LISTED = 20
_MAX_WORKLOADS_LISTED = 5


def diff_lines(answer: DiffAnswer, width: int | None, *, wide: bool = False, everything: bool = False) -> Iterator[str]:
    """All parts of the answer; sentences are folded at `width`. Pods are listed if there are few, with `wide`, or with
    `everything`."""
    yield from folded(f"{answer.before} against {answer.after}", width)
    yield from folded(answer.sentence, width)
    yield from folded(_scores(answer), width)
    pods = largest_differences(answer)
    limit = len(pods) if everything else _MAX_PODS_LISTED
    if pods and (wide or everything or len(pods) <= _MAX_PODS_LISTED):
        rows = []
        for pod in pods[:limit]:
            scores = ["-" if score is None else f"{score:,}" for score in (pod.score_before, pod.score_after)]
            rows.append([pod.pod, pod.before or "waits", pod.after or "waits", *scores])
        headings = ["POD", "BEFORE", "AFTER", "SCORE", "SCORE AFTER"]
        yield from titled("Pods", table(headings, rows, ["SCORE", "SCORE AFTER"]))
        if len(pods) > limit:
            yield f"  and {len(pods) - limit:,} more; --all lists them"
    yield from _workloads(answer, everything)
    if answer.totals_before is not None and answer.totals_after is not None:
        yield from titled("Use", _use(answer.totals_before, answer.totals_after))


def _workloads(answer: DiffAnswer, everything: bool) -> Iterator[str]:
    rows = sorted(answer.workloads, key=lambda each: (-each.moved - abs(each.left - each.pending), each.workload))
    shown = rows if everything else rows[:_MAX_WORKLOADS_LISTED]
    if not shown:
        return
    cells = []
    for each in shown:
        figures = (each.pods, each.moved, each.pending, each.left)
        cells.append([each.workload, *(f"{figure:,}" for figure in figures), short(each.why)])
    headings = ["WORKLOAD", "PODS", "MOVED", "WAITED", "WAIT NOW"]
    with_reasons = any(row[-1] for row in cells)
    yield from titled(
        "Workloads",
        table(
            [*headings, *(["WHY"] if with_reasons else [])],
            cells if with_reasons else [row[:-1] for row in cells],
            headings[1:],
        ),
    )
    if len(rows) > len(shown):
        yield f"  and {len(rows) - len(shown):,} more; --all lists them"


def _scores(answer: DiffAnswer) -> str:
    if not answer.score_before and not answer.score_after:
        return ""
    same = f"{answer.score_changes:,} pods on the same node have another score"
    return f"Scores of the chosen nodes: {answer.score_after:,} in all instead of {answer.score_before:,}; {same}."


def _use(before: Totals, after: Totals) -> list[str]:
    if before.use and after.use:
        return spread_lines(before, after)
    rows = [["nodes", f"{before.nodes:,}", f"{after.nodes:,}"]]
    for resource, whole in before.allocatable.items():
        now = percentage(after.requested.get(resource, 0), after.allocatable.get(resource, 0))
        rows.append([f"{resource} requested", percentage(before.requested[resource], whole), now])
    rows.append(["pods waiting", f"{before.pending:,}", f"{after.pending:,}"])
    return table(["", "NOW", "THEN"], rows, ["NOW", "THEN"])
