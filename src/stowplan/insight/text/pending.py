"""The explanation of a pending pod as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from stowplan.api import amounts
from stowplan.api.selector_words import listed
from stowplan.framework import Change, Refusal
from stowplan.framework.explanation import AsOf, ClosestNode, ExplainedPod, Explanation, HistoryEntry
from stowplan.insight.made_of import requests_in_words
from stowplan.insight.queue_words import duration_in_words
from stowplan.insight.text.layout import INDENT, Layout, bar, counted, folded_table, source_lines, table

_TIME = "%Y-%m-%dT%H:%M:%SZ"


def pending_lines(explanation: Explanation, layout: Layout) -> Iterator[str]:
    """All parts of the explanation."""
    for_ = _pending_for(explanation.pod, explanation.as_of)
    yield from layout.folded(f"{pod_in_words(explanation.pod)}: {explanation.state}{for_}")
    with_parts = not any(" = " in sentence for sentence in explanation.more)
    yield from layout.folded(_requests(explanation.pod, with_parts=with_parts))
    yield ""
    yield from layout.folded(explanation.sentence)
    yield from explanation_body(explanation, layout)
    yield from source_lines(explanation.as_of, layout)


def explanation_body(explanation: Explanation, layout: Layout) -> Iterator[str]:
    """Everything after the first sentence."""
    yield from layout.sentences(explanation.more)
    if explanation.steps:
        yield from _section("Which nodes are left", _steps(explanation, layout))
    if explanation.closest:
        yield from _section("Closest nodes", _closest(explanation.closest[: layout.top], layout))
    if explanation.proposals:
        yield from _section("What would help", _proposals(explanation, layout))
    if explanation.queue is not None and explanation.queue.text:
        yield from _section("Queue", layout.folded(explanation.queue.text, INDENT))
    if _worth_listing(explanation.history):
        yield from _section("Attempts", history_lines(explanation.history, explanation.as_of, layout))
    if explanation.preemption is not None:
        yield from _section("Preemption", layout.folded(f"{explanation.preemption.text}.", INDENT))
    if explanation.message:
        yield from _section("In kube-scheduler's words", layout.folded(explanation.message, INDENT))


def pod_in_words(pod: ExplainedPod) -> str:
    """`shop/checkout-x2x4l of Deployment/checkout`."""
    return f"{pod.namespace}/{pod.name}{f' of {pod.workload}' if pod.workload else ''}"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from lines


def _pending_for(pod: ExplainedPod, as_of: AsOf) -> str:
    if not pod.since or not as_of.time:
        return ""
    seconds = (datetime.strptime(as_of.time, _TIME) - datetime.strptime(pod.since, _TIME)).total_seconds()
    return f" for {duration_in_words(seconds)}" if seconds >= 1 else ""


def _worth_listing(history: tuple[HistoryEntry, ...]) -> bool:
    """The queue's words have the number of attempts; equal ones need no list."""
    return len(history) > 1 or any(entry.verdict == "error" for entry in history)


def history_lines(history: tuple[HistoryEntry, ...], as_of: AsOf, layout: Layout) -> list[str]:
    """Failed attempts, the oldest first."""
    return [line for entry in history for line in _entry_lines(entry, as_of, layout)]


def _entry_lines(entry: HistoryEntry, as_of: AsOf, layout: Layout) -> list[str]:
    """`13:45:12  6 times until 13:57:12: rejected by NodeResourcesFit`."""
    times = "" if entry.attempts == 1 else f"{entry.attempts:,} times until {_time(entry.latest, as_of)}: "
    what = f"rejected by {listed(entry.plugins)}" if entry.plugins and entry.verdict == "rejected" else entry.message
    start = f"{INDENT}{_time(entry.time, as_of)}{INDENT}"
    return layout.folded(f"{start}{times}{what}", hanging=" " * len(start))


def _time(timestamp: str, as_of: AsOf) -> str:
    """The time of day, with the date if it is not that of the answer."""
    date, _, time = timestamp.rstrip("Z").partition("T")
    return time if not as_of.time or as_of.time.startswith(date) else f"{date} {time}"


def _requests(pod: ExplainedPod, *, with_parts: bool) -> str:
    """`12 CPU (app 11, proxy 1), 48Gi; priority 1`; the parts only where no sentence has them."""
    requests = requests_in_words(pod) if with_parts else amounts.listed(pod.requests)
    return f"{requests or 'no requests'}; priority {pod.priority}"


def _steps(explanation: Explanation, layout: Layout) -> list[str]:
    whole = explanation.steps[0].left
    rows = [
        [
            f"{step.left:,}",
            f"-{step.lost:,}" if step.lost else "",
            bar(step.left, whole) if layout.wide else "",
            step.rule or ("all nodes" if not step.plugin else ""),
            step.plugin,
        ]
        for step in explanation.steps
    ]
    return table(rows, right=(0, 1))


def _closest(nodes: tuple[ClosestNode, ...], layout: Layout) -> list[str]:
    """The table; without its further columns, and with folded cells, where the terminal is too narrow for them."""
    rows = _closest_rows(nodes, wide=layout.wide)
    lines = table(rows)
    if layout.width is None or layout.always_wide or max(map(len, lines)) <= layout.width:
        return lines
    rows = _closest_rows(nodes, wide=False)
    lines, last = table(rows), len(rows[0]) - 1
    return lines if max(map(len, lines)) <= layout.width else folded_table(rows, layout.width, (last - 2, last - 1))


def _closest_rows(nodes: tuple[ClosestNode, ...], *, wide: bool) -> list[list[str]]:
    resources = list(dict.fromkeys(each for node in nodes for each in _amounts(node)))
    if not wide:
        resources = resources[:1]
    headings = [f"{'CPU' if each == 'cpu' else each.upper()} FREE" for each in resources]
    lacks_amounts = all(refusal.id.startswith("resources.") for node in nodes for refusal in node.refusals)
    lacks = "LACKS" if lacks_amounts else "IN THE WAY"
    rows = [["NODE", *headings, lacks, "FITS WITH", "OR IF" if wide else ""]]
    for node in nodes:
        known = _amounts(node)
        free = [_free(known[each]) if each in known else "" for each in resources]
        fits, alternative = _changes(node)
        obstacles = "; ".join(
            dict.fromkeys(_lacks(refusal, "" if lacks_amounts else "lacks ") for refusal in node.refusals)
        )
        rows.append([node.node, *free, obstacles, fits, alternative if wide else ""])
    if not any(row[-1] for row in rows[1:]):
        rows[0][-1] = ""
    return rows


def _amounts(node: ClosestNode) -> dict[str, Refusal]:
    """The refusals about amounts by resource."""
    return {
        refusal.facts["resource"]: refusal
        for refusal in node.refusals
        if refusal.id.startswith("resources.") and "resource" in refusal.facts
    }


def _free(refusal: Refusal) -> str:
    facts = refusal.facts
    free, allocatable = amounts.compared(facts["resource"], facts["free"], facts["allocatable"])
    return f"{free} of {allocatable}"


def _lacks(refusal: Refusal, verb: str) -> str:
    facts = refusal.facts
    if refusal.id.startswith("resources.") and "resource" in facts:
        return verb + amounts.in_words(facts["resource"], facts["wanted"] - max(facts["free"], 0))
    return refusal.there or refusal.text


def _changes(node: ClosestNode) -> tuple[str, str]:
    """(the smallest change, another one): pods that leave are the second one where there is a choice."""
    others = [change for change in node.changes if change.kind != "leave"]
    leave = next((change for change in node.changes if change.kind == "leave"), None)
    if not others:
        return ("" if leave is None else f"without {_pods(leave)}"), ""
    if leave is not None:
        verb = "leaves" if len(leave.pods) == 1 else "leave"
        return others[0].text, f"{_pods(leave)} {verb} (priority {max(pod.priority for pod in leave.pods)})"
    return others[0].text, others[1].text if len(others) > 1 else ""


def _pods(change: Change) -> str:
    if not change.pods:
        return change.text
    more = f" and {len(change.pods) - 1} more" if len(change.pods) > 1 else ""
    return f"{change.pods[0].pod}{more}"


def _proposals(explanation: Explanation, layout: Layout) -> list[str]:
    proposals = explanation.proposals
    counts = [counted(each.opens, "node") for each in proposals]
    pods = [counted(each.pods, "pod") if each.pods else "" for each in proposals]
    left = max(map(len, counts))
    right = max(map(len, pods))
    lines: list[str] = []
    for count, placed, proposal in zip(counts, pods, proposals, strict=True):
        start = f"{INDENT}{count:>{left}}" + (f"{INDENT}{placed:>{right}}" if right else "")
        lines += layout.folded(f"{start}{INDENT}{proposal.change.text}", hanging=" " * (len(start) + 2))
    return lines
