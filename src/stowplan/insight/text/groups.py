"""Pending pods grouped by sentence, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.framework.explanation import PendingGroup, PendingPods
from stowplan.insight.text.layout import INDENT, Layout, counted, source_lines
from stowplan.insight.text.pending import explanation_body

_MAX_WORKLOADS = 3


def groups_lines(answer: PendingPods, layout: Layout) -> Iterator[str]:
    """The list of all pending pods, or the groups of a workload with their explanations."""
    if answer.workload:
        yield from _workload_lines(answer, layout)
        return
    if not answer.groups:
        yield "No pods are pending."
        yield from _not_created_lines(answer, layout)
        return
    are = "is" if answer.pods == 1 else "are"
    reasons = counted(len(answer.groups), "reason")
    yield from layout.folded(f"{counted(answer.pods, 'pod')} {are} pending, for {reasons}.")
    shown = answer.groups[: layout.top]
    width = max(len(f"{group.pods:,}") for group in shown)
    for group in shown:
        yield ""
        start = f"{INDENT}{group.pods:>{width},}{INDENT}"
        yield from layout.folded(start + group.sentence, hanging=" " * len(start))
        yield from layout.folded(_workloads(group), " " * len(start))
    rest = len(answer.groups) - len(shown)
    if rest:
        yield ""
        yield f"{INDENT}and {counted(rest, 'more reason')}; --all lists them"
    yield from _not_created_lines(answer, layout)
    yield from source_lines(answer.as_of, layout)


def _workloads(group: PendingGroup) -> str:
    shown = list(group.workloads.items())[:_MAX_WORKLOADS]
    several = len(group.workloads) > 1
    texts = [f"{name} ({count:,})" if several and count > 1 else name for name, count in shown]
    rest = len(group.workloads) - len(shown)
    return ", ".join(texts) + (f" and {rest:,} more" if rest else "")


def _not_created_lines(answer: PendingPods, layout: Layout) -> Iterator[str]:
    """Pods that do not exist, with their workloads unless the answer is about one."""
    for found in answer.not_created[: layout.top]:
        yield ""
        yield from layout.folded(found.sentence if answer.workload else f"{found.workload}: {found.sentence}")
    rest = len(answer.not_created) - layout.top
    if rest > 0:
        yield ""
        yield f"{INDENT}and pods of {counted(rest, 'more workload')} that were never created; --all lists them"


def _workload_lines(answer: PendingPods, layout: Layout) -> Iterator[str]:
    yield from layout.folded(f"{answer.workload}: {counted(answer.pods, 'pod')} pending, {answer.placed:,} on nodes")
    for group in answer.groups:
        yield ""
        count = "" if len(answer.groups) == 1 else f"{counted(group.pods, 'pod')}: "
        yield from layout.folded(count + group.sentence)
        if group.explanation is not None:
            yield from explanation_body(group.explanation, layout)
    yield from _not_created_lines(answer, layout)
    yield from source_lines(answer.as_of, layout)
