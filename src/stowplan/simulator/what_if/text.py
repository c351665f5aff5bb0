"""Answers of `what-if` as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from stowplan.api import amounts
from stowplan.simulator.report.pod_groups import pod_group_table
from stowplan.simulator.report.resources import amount_text, percentage
from stowplan.simulator.report.tables import aligned
from stowplan.simulator.report.use_tables import group_table, label_words
from stowplan.simulator.what_if.records import (
    Enough,
    Fit,
    Removable,
    RequestStep,
    Totals,
    WhatIfAnswer,
    Why,
    WorkloadDifference,
)

_MIN_WIDTH_FOR_REASONS = 100
_MIN_REASON_WIDTH = 24
_MAX_LISTED = 5
_MAX_NAMES = 10


def what_if_lines(answer: WhatIfAnswer, width: int | None, *, wide: bool = False, top: int = _MAX_LISTED) -> list[str]:
    """All parts of the answer; sentences are folded at `width`, None for lines of any length. Reasons are shown if
    there is room, and with `wide`; lists have at most `top` entries, all with 0."""
    return list(_Text(answer, width, wide, top).lines())


class _Text:
    def __init__(self, answer: WhatIfAnswer, width: int | None, wide: bool, top: int) -> None:
        self.answer = answer
        self.width = width
        self.wide = wide
        self.reasons = wide or width is None or width >= _MIN_WIDTH_FOR_REASONS
        self.top = top or None

    def lines(self) -> Iterator[str]:
        answer = self.answer
        if answer.sentence:
            yield from folded(answer.sentence, self.width)
        if answer.new_nodes and answer.on_new_nodes:
            number = answer.on_new_nodes
            even = f"; {answer.even_zones}" if answer.even_zones else ""
            yield from folded(f"{number:,} go{'es' if number == 1 else ''} to the new nodes{even}.", self.width)
        if answer.displaced or answer.lost or answer.vanished:
            yield from self._would_wait()
            yield from self._budgets()
            yield from titled("Use", use_lines(answer.before, answer.after))
        elif answer.placed_again:
            yield from titled("Use of nodes", spread_lines(answer.before, answer.after))
            yield from self._moved_most()
        elif answer.changes:
            yield from self._pods()
        yield from self._pod_groups()
        if answer.lost:
            yield from titled("Lost", self._names(answer.lost))
        if answer.changes and not answer.placed_again and not answer.displaced:
            yield ""
            yield from folded(self._last_sentence(), self.width)
        if answer.steps:
            yield from folded(steps_sentence(answer.steps), self.width)
        counted = [enough_sentence(each) for each in answer.enough]
        counted += [removable_sentence(answer.removable)] if answer.removable else []
        if counted and answer.sentence and (answer.displaced or answer.placed_again or answer.removable):
            yield ""
        for part in counted:
            yield from folded(part, self.width)
        if answer.removable is not None and answer.removable.nodes:
            yield from titled("Nodes that could go", self._names(answer.removable.nodes))
        if answer.fit is not None:
            if answer.sentence:
                yield ""
            yield from fit_lines(answer.fit, self.width)
        yield from self._groups()

    def _would_wait(self) -> Iterator[str]:
        rows = [each for each in self.answer.workloads if each.left > each.pending]
        rows.sort(key=lambda each: (each.pending - each.left, each.workload))
        if not rows:
            return
        table = [[f"{each.left - each.pending:,}", each.workload, short(each.why)] for each in rows[: self.top]]
        yield from titled("Would wait", self._with_reasons(["PODS", "WORKLOAD"], table))
        if len(rows) > len(table):
            rest = rows[len(table) :]
            yield f"  {sum(each.left - each.pending for each in rest):,} more of {_count(len(rest), 'workload')}"
        if not self.reasons:
            yield "  -o wide says why"

    def _pods(self) -> Iterator[str]:
        rows = [each for each in self.answer.workloads if each.pending or each.left]
        named = self.answer.asked.workloads
        # What changes comes before what waits as before.
        rows.sort(key=lambda each: (each.workload not in named, each.left == each.pending, -each.left, each.workload))
        if rows:
            table = [_pod_row(each) for each in rows[: self.top]]
            rest = rows[len(table) :]
            if rest:
                sums = [sum(getattr(each, name) for each in rest) for name in ("pending", "placed", "left")]
                table.append([_count(len(rest), "more workload"), *(f"{number:,}" for number in sums), ""])
            headings = ["WORKLOAD", "PENDING", "PLACED", "LEFT"]
            yield from titled("Pods", self._with_reasons(headings, table, numbers=["PENDING", "PLACED", "LEFT"]))
        with_zones = [each for each in self.answer.workloads if each.workload in named]
        for each in with_zones if len(with_zones) == 1 else []:
            yield from zone_lines(each)

    def _pod_groups(self) -> Iterator[str]:
        """The pod groups after the changes: groups that change first, then groups that wait."""
        before = set(self.answer.before.pod_groups)
        rows = sorted(
            self.answer.after.pod_groups if self.answer.changes else (),
            key=lambda each: (each in before, each.status == "Scheduled", each.pod_group),
        )
        if rows:
            yield from titled("Pod groups", table(*pod_group_table(rows[: self.top])))
            if self.top and len(rows) > self.top:
                yield f"  and {len(rows) - self.top:,} more"

    def _with_reasons(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ("PODS",)
    ) -> Iterator[str]:
        """A table whose last column is the reason, folded into the room that is left."""
        if not self.reasons or not any(row[-1] for row in rows):
            yield from table(headings, [row[: len(headings)] for row in rows], numbers)
            return
        plain = list(table([*headings, ""], [[*row[:-1], "."] for row in rows], numbers))
        start = max(len(line) for line in plain) - 1
        room = None if self.width is None else max(_MIN_REASON_WIDTH, self.width - start - 2)
        yield f"{plain[0]:<{start}}WHY"
        for line, row in zip(plain[1:], rows, strict=True):
            reason = folded(row[-1], room) or [""]
            yield f"{line[:start]}{reason[0]}".rstrip()
            for more in reason[1:]:
                yield f"{'':{start}}{more}"

    def _budgets(self) -> Iterator[str]:
        budgets = self.answer.budgets
        if not budgets:
            return
        rows = []
        for each in budgets[: self.top]:
            text = f"allows {each.allowed:,} of {each.pods:,} at a time"
            rows.append([each.budget, text + (": it would block the drain" if not each.allowed else "")])
        yield from titled("Budgets in the way", table(["", ""], rows)[1:] if rows else [])
        if len(budgets) > len(rows):
            yield f"  and {len(budgets) - len(rows):,} more"

    def _moved_most(self) -> Iterator[str]:
        rows = sorted(
            (each for each in self.answer.workloads if each.moved), key=lambda each: (-each.moved, each.workload)
        )
        if not rows:
            return
        grouped = any(each.moved_from for each in rows)
        shown = [
            [each.workload, f"{each.pods:,}", f"{each.moved:,}", *([each.moved_from, each.moved_to] if grouped else [])]
            for each in rows[: self.top]
        ]
        headings = ["WORKLOAD", "PODS", "MOVED", *(["FROM", "TO"] if grouped else [])]
        yield from titled("Moved most", table(headings, shown, ["PODS", "MOVED"]))

    def _last_sentence(self) -> str:
        answer = self.answer
        moved, evicted = len(answer.moved), len(answer.evicted)
        if not moved and not evicted:
            text = f"No {'other ' if answer.asked.workloads else ''}pod moves or is evicted."
        else:
            text = f"{_count(moved, 'pod')} move{'s' if moved == 1 else ''}, {_count(evicted, 'pod')} evicted."
        return " ".join([text, *_requested(answer.before, answer.after)])

    def _groups(self) -> Iterator[str]:
        """Use by the label of choice."""
        groups = self.answer.after.groups
        if groups and (self.wide or self.answer.by):
            yield from titled(f"Use by {label_words(groups[0].label)}", table(*group_table(groups)))

    def _names(self, names: Sequence[str]) -> Iterator[str]:
        limit = _MAX_NAMES if self.top else len(names)
        for name in names[:limit]:
            yield f"  {name}"
        if len(names) > limit:
            yield f"  and {len(names) - limit:,} more"


def folded(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [indent + text]
    return wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from lines


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """Aligned columns, indented by two."""
    return [f"  {line.plain}" for line in aligned(headings, rows, numbers)]


def use_lines(before: Totals, after: Totals) -> list[str]:
    """Nodes, requested shares, and free room, before and after."""
    rows = [["nodes", f"{before.nodes:,}", f"{after.nodes:,}"]]
    then = {each.resource: each for each in after.use}
    for use in before.use:
        now = then.get(use.resource, use)
        name = f"{use.resource} requested"
        rows.append([name, percentage(use.requested, use.allocatable), percentage(now.requested, now.allocatable)])
    for use in before.use:
        now = then.get(use.resource, use)
        hole = f"largest free {use.resource} on a node"
        rows.append([hole, amounts.bare(use.resource, use.largest_hole), amounts.bare(use.resource, now.largest_hole)])
        if use.largest_request and use.resource != "memory":
            name = f"nodes with {amounts.in_words(use.resource, use.largest_request)} free"
            rows.append([name, f"{use.nodes_for_largest:,}", f"{now.nodes_for_largest:,}"])
    return table(["", "BEFORE", "AFTER"], rows, ["BEFORE", "AFTER"])


def spread_lines(before: Totals, after: Totals) -> list[str]:
    """How evenly nodes are used, now and then."""
    rows = []
    then = {each.resource: each for each in after.use}
    for use in before.use:
        now = then.get(use.resource, use)
        if use.requested or now.requested:
            shares = [f"{each.lowest:.0f}, {each.median:.0f}, {each.highest:.0f} %" for each in (use, now)]
            rows.append([f"{use.resource}: lowest, median, highest", *shares])
            rows.append([f"{use.resource}: standard deviation", f"{use.deviation}", f"{now.deviation}"])
    cpu, later = before.use[0], after.use[0]
    if cpu.largest_request:
        name = f"nodes with {amounts.in_words('cpu', cpu.largest_request)} free"
        rows.append([name, f"{cpu.nodes_for_largest:,}", f"{later.nodes_for_largest:,}"])
    rows.append(["pods waiting", f"{before.pending:,}", f"{after.pending:,}"])
    return table(["", "NOW", "THEN"], rows, ["NOW", "THEN"])


def zone_lines(each: WorkloadDifference) -> Iterator[str]:
    """The placed pods of a workload by zone."""
    zones = sorted({*each.zones_before, *each.zones})
    if zones:
        rows = [[zone, f"{each.zones_before.get(zone, 0):,}", f"{each.zones.get(zone, 0):,}"] for zone in zones]
        yield ""
        yield from table(["ZONE", "NOW", "THEN"], rows, ["NOW", "THEN"])


def fit_lines(fit: Fit, width: int | None) -> Iterator[str]:
    """How many replicas fit, where, and the resource that limits the number."""
    size = f" ({amounts.listed(fit.requests)})" if amounts.listed(fit.requests) else ""
    least = "" if fit.complete else "at least "
    plural = "" if fit.replicas == 1 else "s"
    verb = "fits" if fit.replicas == 1 else "fit"
    text = f"{least}{fit.replicas:,} more replica{plural} of {fit.workload}{size} {verb}"
    then = short(fit.why)
    yield from folded(f"{text[:1].upper()}{text[1:]}{f'; then: {then}' if then else ''}.", width)
    if fit.domains:
        headings = [fit.domain_key.upper(), "NODES", "REPLICAS", "THEN SHORT OF"]
        rows = [[each.domain, f"{each.nodes:,}", f"{each.replicas:,}", each.then] for each in fit.domains]
        yield from titled("Where", table(headings, rows, ["NODES", "REPLICAS"]))
    last = [f"Without the {fit.without} {fit.replicas_without:,} would fit."] if fit.without else []
    if fit.busiest:
        last.append(f"The node that takes most ({fit.busiest}) takes {fit.busiest_replicas:,}.")
    if last:
        yield ""
        yield from folded(" ".join(last), width)


def steps_sentence(steps: Sequence[RequestStep]) -> str:
    """`With 11.95 it would be 23 pods, with 11.9 47.`"""
    first, *rest = [(amounts.bare(each.resource, each.amount), each.placed) for each in steps]
    others = "".join(f", with {amount} {placed:,}" for amount, placed in rest)
    return f"With {first[0]} it would be {_count(first[1], 'pod')}{others}."


def enough_sentence(enough: Enough) -> str:
    if not enough.nodes:
        return "All pods in question fit without more nodes."
    if enough.nodes < 0:
        verb = "waits" if enough.waiting == 1 else "wait"
        text = f"No number of nodes like {enough.like} is enough: {_count(enough.waiting, 'pod')} still {verb}"
        example = f", such as {enough.pod}" if enough.waiting > 1 and enough.pod else ""
        return f"{text}{example}{': ' + short(enough.why) if enough.why else ''}."
    return f"All pods in question fit with {_count(enough.nodes, 'more node')} like {enough.like}."


def removable_sentence(removable: Removable) -> str:
    number = len(removable.nodes)
    if not number:
        return f"None of {_count(removable.examined, 'node')} could go with everything still placed."
    return (
        f"{_count(number, 'node')} could go together with everything still placed; "
        f"{_count(removable.pods, 'pod')} would move."
    )


def short(why: Why | None) -> str:
    """The reason as a part of a sentence: without capital and full stop."""
    if why is None:
        return ""
    text = why.text.removesuffix(".")
    word = text.partition(" ")[0]
    return text if word[1:] != word[1:].lower() else f"{text[:1].lower()}{text[1:]}"


def _pod_row(each: WorkloadDifference) -> list[str]:
    return [each.workload, f"{each.pending:,}", f"{each.placed:,}", f"{each.left:,}", short(each.why)]


def _requested(before: Totals, after: Totals) -> Iterator[str]:
    """`CPU requested: 51 % of 170,000 instead of 51 % of 169,680.` for each resource whose amounts change."""
    for resource, whole in after.allocatable.items():
        part = after.requested[resource]
        old_part, old_whole = before.requested.get(resource, 0), before.allocatable.get(resource, 0)
        if (part, whole) != (old_part, old_whole):
            now = f"{percentage(part, whole)} of {amount_text(resource, whole)}"
            name = {"cpu": "CPU", "memory": "Memory"}.get(resource, resource)
            then = f"{percentage(old_part, old_whole)} of {amount_text(resource, old_whole)}"
            if now != then:
                yield f"{name} requested: {now} instead of {then}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
