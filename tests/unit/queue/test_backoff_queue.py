from __future__ import annotations

from itertools import count
from math import inf

import pytest
from tests.unit.queue.fakes import Clock, make_pod, names, sort_key

from stowplan.framework import QueuedPodInfo
from stowplan.queue.backoff_queue import BackoffQueue


def make(clock: Clock, initial: float = 1.0, longest: float = 10.0) -> BackoffQueue:
    return BackoffQueue(clock, initial, longest, sort_key, count(1))


def unit(
    name: str = "p", *, rejections: int = 0, errors: int = 0, at: float = 100.0, priority: int = 0
) -> QueuedPodInfo:
    rejectors = frozenset() if errors else frozenset({"A"})
    return QueuedPodInfo(
        make_pod(name, priority),
        at,
        unschedulable_count=rejections,
        consecutive_errors=errors,
        unschedulable_plugins=rejectors,
    )


@pytest.mark.parametrize(
    ("rejections", "errors", "seconds"),
    [
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 4),
        (4, 0, 8),
        (5, 0, 10),
        (6, 0, 10),
        (5000, 0, 10),
        (5, 1, 1),
        (1, 3, 4),
        (0, 2, 2),
    ],
)
def test_doubles_up_to_the_longest_and_errors_count_apart(rejections: int, errors: int, seconds: int) -> None:
    assert make(Clock()).expiration(unit(rejections=rejections, errors=errors)) == 100 + seconds


@pytest.mark.parametrize(
    ("initial", "longest", "count", "expiration"),
    [
        (0.5, 10, 1, 100),
        (0.5, 10, 2, 101),
        (2, 3, 1, 102),
        (2, 3, 2, 103),
        (5, 3, 1, 103),
        (1, 0, 4, -inf),
        (1, 10, 0, -inf),
    ],
)
def test_settings(initial: float, longest: float, count: int, expiration: float) -> None:
    assert make(Clock(), initial, longest).expiration(unit(rejections=count)) == expiration


@pytest.mark.parametrize(
    ("at", "now", "holds"),
    [
        (100.0, 100.0, True),
        (100.0, 101.0, True),
        (100.0, 101.99, True),
        (100.0, 102.0, False),
        (100.99, 101.99, True),
        (100.99, 102.0, False),
        (-0.5, 0.5, True),
        (-0.5, 1.0, False),
    ],
)
def test_holds_to_the_end_of_the_second(at: float, now: float, holds: bool) -> None:
    assert make(Clock(now)).holds(unit(rejections=1, at=at)) is holds


def test_the_expiration_is_worked_out_once() -> None:
    backoff, item = make(Clock()), unit(rejections=1)
    assert backoff.expiration(item) == 101
    item.unschedulable_count = 3
    assert backoff.expiration(item) == 101
    item.backoff_expiration = None
    assert backoff.expiration(item) == 104


def test_order_is_second_then_queue_sort_for_rejected_units_alone() -> None:
    backoff = make(Clock(100.0))
    for name, rejections, at, priority in [
        ("a", 1, 100.2, 0),
        ("b", 1, 100.9, 5),
        ("c", 2, 100.1, 9),
        ("d", 1, 100.1, 5),
    ]:
        backoff.push(unit(name, rejections=rejections, at=at, priority=priority))
        backoff.push(unit(f"{name}-failed", errors=rejections, at=at, priority=priority))
    assert names(backoff.rejected) == ["d", "b", "a", "c"]
    assert names(backoff.not_early) == ["a-failed", "b-failed", "d-failed", "c-failed"]
    assert len(backoff) == 8


def test_completed_units_leave_both_heaps() -> None:
    clock = Clock(100.0)
    backoff = make(clock)
    assert backoff.next_completion() == inf
    for item in (unit("a", rejections=2), unit("b", rejections=1), unit("c", errors=1), unit("d", errors=4)):
        backoff.push(item)
    assert (backoff.next_completion(), backoff.take_completed()) == (102, [])
    clock.now = 102.0
    assert names(backoff.take_completed()) == ["b", "c"]
    assert (backoff.next_completion(), len(backoff)) == (103, 2)
    clock.now = 200.0
    assert names(backoff.take_completed()) == ["a", "d"]
    assert (len(backoff), backoff.next_completion()) == (0, inf)
