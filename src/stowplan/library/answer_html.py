"""Explanations and answers as HTML: a fragment for notebooks, a page for `-o html`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stowplan.api import amounts
from stowplan.framework.explanation import (
    ExplainedPod,
    Explanation,
    PendingPods,
    PlacedExplanation,
    WeightThreshold,
    WhyNot,
)
from stowplan.library.html import heading, page, paragraph, preformatted, table
from stowplan.simulator.what_if.records import WhatIfAnswer
from stowplan.simulator.what_if.text import enough_sentence, fit_lines, removable_sentence, use_lines


def fragment(answer: Any) -> str:
    """The answer as HTML without a document around it."""
    return "".join(_PARTS[next(kind for kind in type(answer).__mro__ if kind in _PARTS)](answer))


def answer_page(answer: Any) -> str:
    """The answer as one self-contained document."""
    return page(_title(answer), fragment(answer))


def _title(answer: Any) -> str:
    pod = getattr(answer, "pod", None)
    if isinstance(answer, WhatIfAnswer):
        return "What if"
    return f"{pod.namespace}/{pod.name}" if isinstance(pod, ExplainedPod) else "Pending pods"


def _pod(pod: ExplainedPod, state: str) -> Iterator[str]:
    owner = f" of {pod.workload}" if pod.workload else ""
    yield heading(f"{pod.namespace}/{pod.name}{owner}: {state}", 1)
    requests = amounts.listed(pod.requests) or "no requests"
    yield paragraph(f"{requests}; priority {pod.priority}", "note")


def _sentences(answer: Any) -> Iterator[str]:
    yield paragraph(answer.sentence, "sentence")
    for sentence in answer.more:
        yield paragraph(sentence)


def _pending(answer: Explanation) -> Iterator[str]:
    yield from _pod(answer.pod, answer.state)
    yield from _sentences(answer)
    if answer.steps:
        yield heading("Which nodes are left")
        rows = [(step.left, -step.lost, step.rule or "all nodes", step.plugin) for step in answer.steps]
        yield table(("left", "lost", "rule", "plugin"), rows)
    if answer.closest:
        yield heading("Closest nodes")
        closest = [
            (each.node, "; ".join(refusal.text for refusal in each.refusals), [change.text for change in each.changes])
            for each in answer.closest
        ]
        yield table(("node", "why not", "would fit with"), closest)
    if answer.proposals:
        yield heading("Would fit with")
        yield table(
            ("change", "nodes", "best"), [(each.change.text, each.opens, each.best) for each in answer.proposals]
        )
    if answer.preemption is not None:
        yield heading("Preemption") + paragraph(answer.preemption.text)
    if answer.queue is not None and answer.queue.text:
        yield heading("Queue") + paragraph(answer.queue.text)
    if answer.message:
        yield heading("kube-scheduler's message") + preformatted([answer.message])
    yield _as_of(answer)


def _placed(answer: PlacedExplanation) -> Iterator[str]:
    yield from _pod(answer.pod, f"on {answer.node}")
    yield from _sentences(answer)
    if answer.points:
        yield heading(f"Points of {answer.winner}" + (f" and {answer.second}" if answer.second else ""))
        yield _points(answer)
    if answer.ranking:
        yield heading("Ranking")
        yield table(("rank", "node", "points"), [(each.rank, each.node, each.points) for each in answer.ranking])
    yield _thresholds(answer.thresholds)
    if answer.without:
        yield heading("Without a plugin")
        yield table(("plugin", "winner", "ahead by"), [(each.plugin, each.wins, each.by) for each in answer.without])
    yield _as_of(answer)


def _why_not(answer: WhyNot) -> Iterator[str]:
    yield from _pod(answer.pod, f"would do on {answer.node}" if answer.fits else f"not on {answer.node}")
    yield from _sentences(answer)
    if answer.rules:
        rows = [("ok" if rule.ok else "NO", rule.plugin, rule.wanted, rule.there) for rule in answer.rules]
        yield heading("Rules") + table(("", "plugin", "wanted", "there"), rows)
    if answer.changes:
        yield heading("Would fit with") + table(("change",), [(each.change.text,) for each in answer.changes])
    if answer.points:
        yield heading("Points") + _points(answer)
    yield _thresholds(answer.thresholds)
    yield _as_of(answer)


def _groups(answer: PendingPods) -> Iterator[str]:
    yield heading(f"{answer.workload or 'Pending pods'}: {answer.pods:,} pending", 1)
    rows = [(group.pods, group.verdict, group.sentence, list(group.workloads)) for group in answer.groups]
    yield table(("pods", "verdict", "why", "workloads"), rows)
    if answer.not_created:
        lacking = [(each.pods, each.workload, each.sentence) for each in answer.not_created]
        yield heading("Never created") + table(("pods", "workload", "why"), lacking)
    yield _as_of(answer)


def _what_if(answer: WhatIfAnswer) -> Iterator[str]:
    yield heading("What if", 1) + paragraph(answer.sentence, "sentence")
    changed = [each for each in answer.workloads if each.placed or each.left or each.displaced or each.moved]
    if changed:
        rows = [
            (each.workload, each.pending, each.placed, each.left, each.moved, "" if each.why is None else each.why.text)
            for each in changed
        ]
        yield heading("Pods") + table(("workload", "pending before", "placed", "left", "moved", "why"), rows)
    if answer.budgets:
        budgets = [(each.budget, each.allowed, each.pods) for each in answer.budgets]
        yield heading("Budgets in the way") + table(("budget", "allows", "pods"), budgets)
    if answer.evicted:
        evicted = [(each.pod, each.node, each.preemptor) for each in answer.evicted]
        yield heading("Evicted") + table(("pod", "node", "for"), evicted)
    if answer.lost:
        yield heading("Lost") + paragraph(", ".join(answer.lost))
    if answer.fit is not None:
        yield heading("How many more fit") + "".join(paragraph(line) for line in fit_lines(answer.fit, None) if line)
    for enough in answer.enough:
        yield paragraph(enough_sentence(enough))
    if answer.removable is not None:
        yield paragraph(removable_sentence(answer.removable))
    yield heading("Use") + preformatted(use_lines(answer.before, answer.after))


def _points(answer: PlacedExplanation | WhyNot) -> str:
    rows = [
        (
            each.plugin,
            each.weight,
            each.winner.weighted,
            "" if each.second is None else each.second.weighted,
            each.difference,
            each.winner.text,
        )
        for each in answer.points
    ]
    return table(("plugin", "weight", "winner", "second", "difference", ""), rows)


def _thresholds(thresholds: tuple[WeightThreshold, ...]) -> str:
    if not thresholds:
        return ""
    rows = [
        (each.plugin, each.weight, f"from {each.at_least}" if each.at_least else f"up to {each.at_most}", each.wins)
        for each in thresholds
    ]
    return heading("Other weights") + table(("plugin", "weight", "with weight", "winner"), rows)


def _as_of(answer: Any) -> str:
    return paragraph(" · ".join(filter(None, (answer.as_of.time, answer.as_of.source, answer.as_of.by))), "note")


_PARTS: dict[type, Callable[[Any], Iterator[str]]] = {
    Explanation: _pending,
    PlacedExplanation: _placed,
    WhyNot: _why_not,
    PendingPods: _groups,
    WhatIfAnswer: _what_if,
}
