"""The first sentence of an answer: what was changed, how many pods get a place, how many wait."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.records import WhatIfAnswer, WorkloadDifference
from stowplan.simulator.what_if.text import short


def first_sentence(answer: WhatIfAnswer, phrases: Sequence[str], effects: Effects) -> str:
    """`With 20 more nodes like a: 56 of 287 pending pods get a place, 231 still wait.`"""
    results = [*_displaced(answer), *_again(answer, effects)]
    named = [each for each in answer.workloads if each.workload in effects.workloads]
    if named and not effects.again:
        results += [*_named(named), *_other_losses(answer.workloads, effects)]
    elif not results or (effects.asks_pending and answer.before.pending):
        results += _pending(answer.workloads)
    if not phrases and not effects.again:
        return ""
    start = _joined(phrases)
    text = f"{start}: {'; '.join(results)}." if start else f"{'; '.join(results)}."
    return text[:1].upper() + text[1:]


def _joined(phrases: Sequence[str]) -> str:
    if len(phrases) < 2:
        return "".join(phrases)
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _displaced(answer: WhatIfAnswer) -> list[str]:
    """Pods of drained and failed nodes."""
    if not (answer.displaced or answer.lost or answer.vanished):
        return []
    parts = []
    if answer.displaced:
        waiting = sum(min(each.displaced, max(0, each.left - each.pending)) for each in answer.workloads)
        placed = answer.displaced - waiting
        if not waiting:
            parts.append(f"{_all(answer.displaced)} to move find{'s' if answer.displaced == 1 else ''} a place")
        else:
            which = f"of {answer.displaced:,} {_pods(answer.displaced)} that {_have(answer.displaced)} to move"
            found = f"{placed:,} find{'s' if placed == 1 else ''} a place"
            rest = f"{found}, {waiting:,} {'does' if waiting == 1 else 'do'} not" if placed else "none finds a place"
            parts.append(f"{which}, {rest}")
    if answer.lost:
        number = len(answer.lost)
        verb, them = ("is", "it") if number == 1 else ("are", "them")
        parts.append(f"{number:,} {verb} lost, since no controller creates {them} anew")
    if not parts:
        parts.append("no pod has to move")
    return parts


def _again(answer: WhatIfAnswer, effects: Effects) -> list[str]:
    if not effects.again:
        return []
    number = answer.placed_again
    moved = sum(each.pod in effects.again for each in answer.moved)
    text = f"if the {number:,} {_pods(number)} {effects.again_phrase} were placed again, {moved:,} would go elsewhere"
    return [text + (f" and {answer.waiting:,} would wait" if answer.waiting else "")]


def _named(workloads: Sequence[WorkloadDifference]) -> list[str]:
    """The pods of workloads that changes name."""
    parts = []
    for each in workloads:
        kind, _, name = each.workload.partition("/")[2].partition("/")
        owner = f"pod {name}" if kind == "Pod" else f"{kind}/{name}"
        parts.append(_state_of(each, owner) + (_because(each) if each.left else ""))
    return parts


def _state_of(each: WorkloadDifference, owner: str) -> str:
    placed = each.pods_after - each.left
    if each.pending and each.pods == each.pods_after:
        got = max(0, each.pending - each.left)
        text = (
            f"{got:,} of {each.pending:,} pending {_pods(each.pending)} of {owner} get{'s' if got == 1 else ''} a place"
        )
    elif each.left:
        text = f"{placed:,} of {each.pods_after:,} {_pods(each.pods_after)} of {owner} {_have(placed)} a place"
    else:
        return (
            f"{'both' if each.pods_after == 2 else f'all {each.pods_after:,}'} pods of {owner} have a place"
            if each.pods_after > 1
            else (f"the pod of {owner} has a place" if each.pods_after else f"{owner} has no pods")
        )
    return text + (f", {each.left:,} still wait{'s' if each.left == 1 else ''}" if each.left else "")


def _other_losses(workloads: Sequence[WorkloadDifference], effects: Effects) -> list[str]:
    """Pods of other workloads that lose their place, by eviction or because a change takes it."""
    lost = sum(max(0, each.left - each.pending) for each in workloads if each.workload not in effects.workloads)
    # Pods of drained nodes have a sentence of their own.
    lost -= sum(min(each.displaced, max(0, each.left - each.pending)) for each in workloads)
    return (
        [f"{lost:,} other {_pods(lost)} lose{'s' if lost == 1 else ''} {'its' if lost == 1 else 'their'} place"]
        if lost > 0
        else []
    )


def _because(each: WorkloadDifference) -> str:
    if each.why is None:
        return ""
    return f": {short(each.why)}"


def _pending(workloads: Sequence[WorkloadDifference]) -> list[str]:
    pending = sum(each.pending for each in workloads)
    left = sum(each.left for each in workloads)
    if not pending and not left:
        return ["every pod keeps its place"]
    if left > pending or not pending:
        new = left - pending
        return [f"{new:,} {_pods(new)} {'waits' if new == 1 else 'wait'} that {_have(new)} a place now"]
    got = pending - left
    text = f"{got:,} of {pending:,} pending {_pods(pending)} get{'s' if got == 1 else ''} a place"
    return [text + (f", {left:,} still wait{'s' if left == 1 else ''}" if left else "")]


def _all(number: int) -> str:
    return "the pod that has" if number == 1 else f"{'both' if number == 2 else f'all {number:,}'} pods that have"


def _pods(number: int) -> str:
    return "pod" if number == 1 else "pods"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
