"""Disagreements are found, and agreement is not taken for one."""

from __future__ import annotations

import pytest
from tests.builders import away, node, pod, term
from tests.parity.agreement import Verdict, disagreements
from tests.parity.outcome import PENDING, PLACED, UNDECIDED, Outcome, Told
from tests.parity.workload import Workload

WHY = "0/2 nodes are available: 2 Insufficient cpu."
ALSO = f"{WHY} no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful."


def pending(message: str = ALSO, note: str = "", nominated: str = "") -> Outcome:
    condition: Told = {"status": "False", "reason": "Unschedulable", "message": message}
    return Outcome(PENDING, "", nominated, condition, {"note": note or message})


def on(name: str) -> Outcome:
    return Outcome(PLACED, name)


FITS = Verdict({"pod": pod("p"), "nodes": [node("a"), node("b"), node("c", unschedulable=True)], "pods": []})
TOO_LARGE = Verdict({"pod": pod("p", requests={"cpu": "9"}), "nodes": [node("a"), node("b")], "pods": []})
PREEMPTS = Verdict(
    {
        "pod": pod("p", priority=5, affinity=away(term("kubernetes.io/hostname"))),
        "nodes": [node("a"), node("b", unschedulable=True)],
        "pods": [pod("v", "a", labels={"app": "a"})],
    }
)
NO_ROOM = "0/2 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) were unschedulable."


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict", "problems"),
    [
        (on("a"), on("a"), FITS, 0),
        (on("a"), on("b"), FITS, 0),
        (on("c"), on("b"), FITS, 1),
        (on("a"), on("c"), FITS, 1),
        (on("a"), pending(), FITS, 1),
        (pending(), Outcome(UNDECIDED), TOO_LARGE, 1),
        (pending(), pending(), TOO_LARGE, 0),
        (pending(), pending(WHY), TOO_LARGE, 2),
        (pending(), pending(note="for another reason"), TOO_LARGE, 1),
        (pending("0/2 nodes are available: 2 Insufficient memory."),) * 2 + (TOO_LARGE, 1),
        (pending(NO_ROOM, nominated="a"), pending(NO_ROOM, nominated="a"), PREEMPTS, 0),
        (pending(NO_ROOM, nominated="a"), pending(NO_ROOM), PREEMPTS, 1),
        (pending(NO_ROOM, nominated="b"), pending(NO_ROOM, nominated="a"), PREEMPTS, 1),
    ],
)
def test_disagreements(theirs: Outcome, ours: Outcome, verdict: Verdict, problems: int) -> None:
    assert not verdict.error
    assert len(list(disagreements(theirs, ours, verdict))) == problems


def test_what_cannot_be_evaluated_is_a_disagreement() -> None:
    broken = Verdict({"pod": pod(""), "nodes": [], "pods": []})
    assert len(list(disagreements(on("a"), on("a"), broken))) == 1


def test_victims() -> None:
    assert PREEMPTS.victims("a") == {"default/v"}
    assert PREEMPTS.victims("b") == set()


def test_a_workload_follows_from_its_seed() -> None:
    first, second = Workload(1, 3), Workload(1, 3)
    assert (first.nodes, first.objects, first.pod("p")) == (second.nodes, second.objects, second.pod("p"))
    assert Workload(2, 3).nodes != first.nodes
