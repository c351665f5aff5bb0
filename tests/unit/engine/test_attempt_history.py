"""The history of failed attempts: equal ones are merged, and memory is bounded."""

from __future__ import annotations

import pytest

from stowplan.engine.attempt_history import MAX_ENTRIES_PER_POD, MAX_KEPT_MESSAGE_CHARS, AttemptHistory
from stowplan.framework import Code, Status

NO_ROOM = Status(Code.Unschedulable, "no room", plugin="Fit")
BROKEN = Status(Code.Error, "broken", plugin="Fit")
FIT = frozenset({"Fit"})


def test_equal_attempts_are_merged_and_keep_the_latest_message() -> None:
    history = AttemptHistory()
    for now, status, message, plugins in (
        (1.0, NO_ROOM, "0/3 nodes", FIT),
        (2.0, NO_ROOM, "0/2 nodes", FIT),
        (3.0, NO_ROOM, "0/2 nodes", frozenset({"Fit", "Taints"})),
        (4.0, BROKEN, "one", frozenset[str]()),
        (5.0, BROKEN, "two", frozenset[str]()),
    ):
        history.record("uid", now, status, message, plugins)
    assert [(each.first, each.latest, each.count, each.rejected, each.message) for each in history.of("uid")] == [
        (1.0, 2.0, 2, True, "0/2 nodes"),
        (3.0, 3.0, 1, True, "0/2 nodes"),
        (4.0, 4.0, 1, False, "one"),
        (5.0, 5.0, 1, False, "two"),
    ]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.engine.attempt_history.MAX_PODS_WITH_HISTORY", 2)
    history = AttemptHistory()
    for number in range(100):
        history.record("busy", number, BROKEN, f"{number}" + "x" * 5000, frozenset())
    assert len(history.of("busy")) == MAX_ENTRIES_PER_POD
    assert {len(each.message) for each in history.of("busy")} == {MAX_KEPT_MESSAGE_CHARS}
    history.record("other", 100, BROKEN, "", frozenset())
    history.record("busy", 101, BROKEN, "", frozenset())
    history.record("third", 102, BROKEN, "", frozenset())
    assert [len(history.of(uid)) for uid in ("busy", "other", "third")] == [MAX_ENTRIES_PER_POD, 0, 1]


def test_pods_that_are_no_longer_pending_are_forgotten_on_request() -> None:
    history = AttemptHistory()
    for uid in ("a", "b"):
        history.record(uid, 1.0, Status(Code.Unschedulable, "no room"), "no room", frozenset({"NodeResourcesFit"}))
    history.retain({"b": object()})
    assert not history.of("a")
    assert history.of("b")
