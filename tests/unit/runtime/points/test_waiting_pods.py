"""Pods that Permit plugins hold back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builders import World, pod

from stowplan.framework import Code, Pod, Status
from stowplan.runtime.points.waiting_pods import PermitWait, WaitingPodEntry, WaitingPods


@pytest.fixture
def held() -> Pod:
    return World().pod(pod("p"))


NO = Status(Code.Unschedulable, "no", plugin="x")


@pytest.mark.parametrize(
    ("acts", "verdicts"),
    [
        ([lambda w: w.allow("x")], []),
        ([lambda w: w.allow("x"), lambda w: w.allow("y")], [None]),
        ([lambda w: w.allow("y"), lambda w: w.allow("x"), lambda w: w.allow("x")], [None]),
        ([lambda w: w.allow("z")], []),
        ([lambda w: w.reject("x", "no")], [NO]),
        ([lambda w: w.allow("y"), lambda w: w.reject("x", "no"), lambda w: w.allow("x")], [NO]),
        ([lambda w: w.allow("y"), lambda w: w.allow("x"), lambda w: w.reject("x", "no")], [None]),
        ([lambda w: w.preempt("x", "out")], [Status(Code.Error, "out", plugin="x")]),
    ],
)
def test_the_first_verdict_counts(
    held: Pod, acts: list[Callable[[WaitingPodEntry], object]], verdicts: list[Status | None]
) -> None:
    waiting, told = WaitingPodEntry(held, ["x", "y"]), list[Status | None]()
    waiting.when_settled(told.append)
    for act in acts:
        act(waiting)
    assert told == verdicts
    assert waiting.settled == bool(verdicts)


def test_whoever_comes_late_is_told_at_once(held: Pod) -> None:
    waiting, told = WaitingPodEntry(held, ["x"]), list[Status | None]()
    waiting.when_settled(told.append)
    waiting.reject("x", "no")
    waiting.when_settled(told.append)
    assert told == [NO, NO]


@pytest.mark.parametrize("end", ["reject", "preempt"])
def test_whether_it_was_the_one_that_ended_it(held: Pod, end: str) -> None:
    waiting = WaitingPodEntry(held, ["x"])
    assert getattr(waiting, end)("x", "no")
    assert not getattr(waiting, end)("x", "no")
    allowed = WaitingPodEntry(held, ["x"])
    allowed.allow("x")
    assert not getattr(allowed, end)("x", "no")


def test_who_still_holds_it_back(held: Pod) -> None:
    waiting = WaitingPodEntry(held, {"x": 1.0, "y": 2.0, "z": 3.0})
    waiting.allow("y")
    assert waiting.pending_plugins == ["x", "z"]
    assert waiting.pod is held


def test_all_of_them_by_uid(held: Pod) -> None:
    all_waiting = WaitingPods()
    entry = all_waiting.add(held, {"x": PermitWait(1.0)})
    assert (all_waiting.get(held.uid), all_waiting.get("other")) == (entry, None)
    for each in all_waiting:
        all_waiting.remove(each.pod.uid)
    all_waiting.remove(held.uid)
    assert (len(all_waiting), list(all_waiting)) == (0, [])
