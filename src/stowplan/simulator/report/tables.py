"""Reports as tables: pods, nodes, pending pods with reasons, and evictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from stowplan.simulator.report.pod_groups import pod_group_table
from stowplan.simulator.report.report import (
    GATED,
    PENDING,
    PLACED,
    RUNNING,
    AssumptionReport,
    NodeReport,
    NotCreatedReport,
    PendingReport,
    PodReport,
    PreemptionReport,
    ReasonReport,
    RunSummary,
    SimulationReport,
)
from stowplan.simulator.report.resources import BASIC_RESOURCES, amount_text, extended_resources, share_text
from stowplan.simulator.report.use_tables import group_table, label_words, resource_table

MAX_LISTED_PODS = 50
"""Above this number, workloads are listed instead of pods."""

_MAX_LISTED_NAMES = 5
_MAX_LISTED_MESSAGES = 20
_STYLES = {PLACED: "green", RUNNING: "", PENDING: "bold yellow", GATED: "bold magenta"}
_HEADING = "bold"
_RIGHT_ALIGNED = frozenset(
    {"ATTEMPTS", "SCORE", "PODS", "PLACED", "RUNNING", "PENDING", "NODES", "FEASIBLE", "EVICTED"}
)


class TableStyle(NamedTuple):
    """Extent and layout of the tables."""

    wide: bool = False
    """With scores, runners-up and the use of each node."""
    everything: bool = False
    """List everything."""
    width: int | None = None
    """Columns of the terminal; None for lines of any length."""
    before: bool = False
    """With the states of pods in the snapshot."""
    groups: bool = False
    """With the use of nodes by zone, or by the label of choice."""


def tables(report: SimulationReport, style: TableStyle) -> Iterator[Text]:
    """The whole report, line by line."""
    if report.pods:
        grouped = len(report.pods) > MAX_LISTED_PODS and not style.everything
        yield from _workloads(report.pods) if grouped else _pods(report.pods, style)
    if report.pod_groups:
        yield from _titled("Pod groups", aligned(*pod_group_table(report.pod_groups)))
    if style.wide and report.nodes:
        yield from _titled("Nodes", _nodes(report, style))
    if style.wide and report.use and report.nodes:
        yield from _titled("Use", aligned(*resource_table(report.use)))
    if (style.wide or style.groups) and report.groups:
        title = f"Use by {label_words(report.groups[0].label)}"
        yield from _titled(title, aligned(*group_table(report.groups)))
    if report.pending:
        yield from _titled("Pending", _pending(report.pending, style))
    if report.preemptions:
        yield from _titled("Evicted", _evicted(report.preemptions, style))
    if report.not_created:
        yield from _titled("Not created", _not_created(report.not_created, style))
    if report.assumptions:
        yield from _titled("Assumed", _assumed(report.assumptions, style))
    if report.pods:
        yield Text()
    yield from folded(summary_line(report.summary), style.width)


def aligned(
    headings: Sequence[str], rows: Iterable[Sequence[str | Text]], numbers: Collection[str] = ()
) -> Iterator[Text]:
    """Aligned columns; numbers, also those under the headings in `numbers`, to the right."""
    cells = [[Text(heading, _HEADING) for heading in headings]]
    cells += [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*cells, strict=True)]
    for row in cells:
        line = Text()
        for heading, cell, width in zip(headings, row, widths, strict=True):
            padding = " " * (width - cell_len(cell.plain))
            line.append("  " if line else "")
            to_the_right = heading in _RIGHT_ALIGNED or heading in numbers
            line.append_text(Text(padding) + cell if to_the_right else cell + Text(padding))
        line.rstrip()
        yield line


def folded(text: str, width: int | None, indent: str = "", style: str = "") -> Iterator[Text]:
    """A sentence wrapped to the width."""
    room = len(text) if width is None else width - 1 - len(indent)
    for line in wrap(text, max(room, 20), break_on_hyphens=False):
        yield Text(indent + line, style)


def summary_line(summary: RunSummary) -> str:
    """The totals in one line."""
    kinds = [f"{summary.gated:,} gated"] if summary.gated else []
    kinds += [f"{summary.pending_before:,} pending before"] if summary.pending_before else []
    waiting = f"{summary.pending:,} pending" + (f" ({', '.join(kinds)})" if kinds else "")
    parts = [f"{summary.placed:,} placed", waiting]
    if summary.running:
        parts.append(f"{summary.running:,} running before")
    if summary.evicted:
        parts.append(f"{summary.evicted:,} evicted")
    if not summary.nodes:
        return f"{', '.join(parts)}; there are no nodes."
    use = ", ".join(
        f"{name} {share_text(name, amount, summary.allocatable[name], ' of ')}"
        for name, amount in summary.requested.items()
    )
    return f"{', '.join(parts)}; {summary.nodes_used:,} of {_count(summary.nodes, 'node')} used. Requested: {use}."


def _titled(title: str, lines: Iterator[Text]) -> Iterator[Text]:
    yield Text()
    yield Text(title, _HEADING)
    yield from lines


def _pods(pods: Sequence[PodReport], style: TableStyle) -> Iterator[Text]:
    extended = extended_resources(pod.requests for pod in pods)
    requests = [name.upper() for name in extended]
    with_zones = any(pod.zone for pod in pods)
    headings = ["NAMESPACE", "POD", *(["BEFORE"] if style.before else []), "STATUS", "NODE"]
    headings += [*(["ZONE"] if with_zones else []), *requests, "ATTEMPTS"]
    if style.wide:
        headings += ["SCORE", "RUNNER-UP", "FEASIBLE"]
    with_devices = style.wide and any(pod.devices for pod in pods)
    if with_devices:
        headings.append("DEVICES")
    rows = []
    for pod in pods:
        namespace, _, name = pod.pod.partition("/")
        status = Text(pod.status, _STYLES[pod.status])
        row: list[str | Text] = [namespace, name, *([pod.before or "-"] if style.before else [])]
        row += [status, pod.node or "-", *([pod.zone or "-"] if with_zones else [])]
        row += [*_requests(extended, pod.requests), str(pod.attempts or "-")]
        if style.wide:
            row += _wide_cells(pod)
        if with_devices:
            row.append(", ".join(pod.devices) or "-")
        rows.append(row)
    return aligned(headings, rows, requests)


def _requests(resources: Iterable[str], amounts: Mapping[str, int]) -> list[str]:
    return [amount_text(name, amounts[name]) if amounts.get(name) else "-" for name in resources]


def _wide_cells(pod: PodReport) -> list[str | Text]:
    """Score, runner-up with its score, and feasible of evaluated nodes."""
    score = "-" if pod.score is None else str(pod.score)
    runner_up = f"{pod.runner_up} ({pod.runner_up_score})" if pod.runner_up else "-"
    return [score, runner_up, f"{pod.feasible_nodes}/{pod.evaluated_nodes}" if pod.attempts else "-"]


def _workloads(pods: Sequence[PodReport]) -> Iterator[Text]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    nodes: dict[tuple[str, str], set[str]] = {}
    zones: dict[tuple[str, str], Counter[str]] = {}
    amounts: dict[tuple[str, str], Counter[str]] = {}
    for pod in pods:
        key = pod.pod.partition("/")[0], pod.workload or "pods on their own"
        counts.setdefault(key, Counter())[pod.status] += 1
        nodes.setdefault(key, set()).add(pod.node)
        zones.setdefault(key, Counter())[pod.zone] += 1
        amounts.setdefault(key, Counter()).update(pod.requests)
    extended = extended_resources(amounts.values())
    requests = [name.upper() for name in extended]
    with_zones = any(pod.zone for pod in pods)
    rows: list[list[str | Text]] = []
    for key in sorted(counts):
        count = counts[key]
        waiting = count[PENDING] + count[GATED]
        shown = Text(f"{waiting:,}", _STYLES[PENDING]) if waiting else "0"
        figures = (count.total(), count[PLACED], count[RUNNING])
        row = [*key, *(f"{figure:,}" for figure in figures), shown, f"{len(nodes[key] - {''}):,}"]
        rows.append([*row, *_requests(extended, amounts[key]), *([_zones(zones[key])] if with_zones else [])])
    headings = ["NAMESPACE", "WORKLOAD", "PODS", "PLACED", "RUNNING", "PENDING", "NODES", *requests]
    return aligned([*headings, *(["ZONES"] if with_zones else [])], rows, requests)


def _zones(pods: Counter[str]) -> str:
    """The number of pods in each zone."""
    return ", ".join(f"{zone} {pods[zone]:,}" for zone in sorted(pods) if zone) or "-"


def _nodes(report: SimulationReport, style: TableStyle) -> Iterator[Text]:
    shown = report.nodes if style.everything else report.nodes[:MAX_LISTED_PODS]
    resources = list(report.summary.requested)
    with_zones = any(node.zone for node in shown)
    rows = []
    for node in shown:
        zone = [node.zone or "-"] if with_zones else []
        rows.append([node.node, *zone, f"{node.pods}", *(_use(node, name) for name in resources)])
    headings = ["NODE", *(["ZONE"] if with_zones else []), "PODS", *(name.upper() for name in resources)]
    yield from aligned(headings, rows)
    if len(shown) < len(report.nodes):
        yield Text(f"and {len(report.nodes) - len(shown):,} more; --all lists them")


def _use(node: NodeReport, resource: str) -> str:
    """The requested share of a resource; "-" for an extended resource that the node does not have."""
    part, whole = node.requested.get(resource, 0), node.allocatable.get(resource, 0)
    return share_text(resource, part, whole, "/") if part or whole or resource in BASIC_RESOURCES else "-"


def _pending(pending: Sequence[PendingReport], style: TableStyle) -> Iterator[Text]:
    groups: dict[tuple[str, tuple[ReasonReport, ...]], list[PendingReport]] = {}
    for each in pending:
        groups.setdefault((each.message, each.reasons), []).append(each)
    shown = list(groups.items())[: None if style.everything else _MAX_LISTED_MESSAGES]
    for (message, reasons), members in shown:
        yield from folded(f"{_pending_pods(members, style)}:", style.width, "", _STYLES[PENDING])
        yield from folded(message or "not tried yet", style.width, "  ")
        for reason in reasons:
            names = _names(reason.nodes, style)
            yield from folded(f"{reason.reason} ({len(reason.nodes):,}): {names}", style.width, "    ")
    if len(shown) < len(groups):
        yield Text(f"and {len(groups) - len(shown):,} more messages; --all lists them")


def _pending_pods(members: Sequence[PendingReport], style: TableStyle) -> str:
    """The pending pods: a single one by name, several by workload."""
    if len(members) == 1 and len(members[0].pods) == 1:
        return members[0].pods[0] + (f" of {members[0].workload}" if members[0].workload else "")
    total = _count(sum(len(each.pods) for each in members), "pod")
    owners = [_names(each.pods, style) if not each.workload else _owner(each) for each in members]
    if len(members) == 1:
        return f"{total}: {owners[0]}" if not members[0].workload else f"{total} of {owners[0]}"
    return f"{total}: {_names(owners, style)}"


def _owner(each: PendingReport) -> str:
    return f"{each.pods[0].partition('/')[0]}/{each.workload}"


def _evicted(preemptions: Sequence[PreemptionReport], style: TableStyle) -> Iterator[Text]:
    if len(preemptions) <= MAX_LISTED_PODS or style.everything:
        for each in preemptions:
            victim = f"{each.victim} (priority {each.victim_priority})"
            preemptor = f"{each.preemptor} (priority {each.preemptor_priority})"
            yield from folded(f"{victim} left {each.node} for {preemptor}; {each.outcome}", style.width, "  ")
        return
    groups = Counter((_group(each), each.outcome) for each in preemptions)
    for ((victims, preemptors), outcome), count in groups.items():
        yield from folded(f"{_count(count, 'pod')} of {victims} for {preemptors}; {outcome}", style.width, "  ")


def _not_created(reports: Sequence[NotCreatedReport], style: TableStyle) -> Iterator[Text]:
    for each in reports:
        who = f"{_count(each.pods, 'pod')} of {each.workload}" if each.workload else _count(each.pods, "pod")
        yield from folded(f"{who}:", style.width, "", _STYLES[PENDING])
        yield from folded(each.message, style.width, "  ")


def _assumed(assumptions: Sequence[AssumptionReport], style: TableStyle) -> Iterator[Text]:
    for each in assumptions:
        names = f" {_names(each.objects, style)}" if each.objects else ""
        yield from folded(f"{each.kind}{names}: {each.assumption}", style.width, "  ")


def _group(each: PreemptionReport) -> tuple[str, str]:
    def owner(pod: str, workload: str, priority: int) -> str:
        return f"{pod.partition('/')[0]}/{workload or 'pods on their own'} (priority {priority})"

    return (
        owner(each.victim, each.victim_workload, each.victim_priority),
        owner(each.preemptor, each.preemptor_workload, each.preemptor_priority),
    )


def _names(names: Sequence[str], style: TableStyle) -> str:
    """The first names, and the number of the others."""
    if style.everything or len(names) <= _MAX_LISTED_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_LISTED_NAMES])} and {len(names) - _MAX_LISTED_NAMES:,} more"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
