"""The explanation of a pending pod as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from stowplan.api import amounts
from stowplan.framework.explanation import Explanation


def pending_lines(explanation: Explanation, width: int | None) -> Iterator[str]:
    """All parts of the explanation; sentences are folded at `width`."""
    pod = explanation.pod
    owner = f" of {pod.workload}" if pod.workload else ""
    yield from folded(f"{pod.namespace}/{pod.name}{owner}: {explanation.state}", width)
    requests = amounts.listed(pod.requests)
    yield from folded(f"{requests or 'no requests'}; priority {pod.priority}", width)
    yield ""
    yield from folded(explanation.sentence, width)
    for sentence in explanation.more:
        yield from folded(sentence, width)
    if explanation.steps:
        yield ""
        yield "Which nodes are left"
        yield from _steps(explanation)
    if explanation.closest:
        yield ""
        yield "Closest nodes"
        for node in explanation.closest:
            yield from folded(f"{node.node}: {'; '.join(each.text for each in node.refusals)}", width, "  ")
            for change in node.changes:
                yield from folded(f"fits with {change.text}", width, "    ")
    if explanation.proposals:
        yield ""
        yield "What would help"
        yield from _proposals(explanation)
    if explanation.preemption is not None:
        yield ""
        yield "Preemption"
        yield from folded(f"{explanation.preemption.text}.", width, "  ")
    if explanation.message:
        yield ""
        yield "In kube-scheduler's words"
        yield from folded(explanation.message, width, indent="  ")


def folded(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [indent + text]
    return wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _steps(explanation: Explanation) -> Iterator[str]:
    left = max(len(f"{step.left:,}") for step in explanation.steps)
    lost = max(len(f"-{step.lost:,}") if step.lost else 0 for step in explanation.steps)
    rule = max(len(step.rule or "all nodes") for step in explanation.steps)
    for step in explanation.steps:
        gone = f"-{step.lost:,}" if step.lost else ""
        text = f"  {step.left:>{left},}  {gone:>{lost}}  {step.rule or 'all nodes':<{rule}}  {step.plugin}"
        yield text.rstrip()


def _proposals(explanation: Explanation) -> Iterator[str]:
    counts = [f"{each.opens:,} node{'' if each.opens == 1 else 's'}" for each in explanation.proposals]
    width = max(len(count) for count in counts)
    for count, proposal in zip(counts, explanation.proposals, strict=True):
        yield f"  {count:>{width}}  {proposal.change.text}"
