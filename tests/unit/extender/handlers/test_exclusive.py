"""Taking turns, and what is done about those who do not come out."""

import threading
import time
from collections.abc import Callable
from time import monotonic

import pytest

from stowplan.extender.handlers.exclusive import OVERTAKE_AFTER_SECONDS, Exclusive
from stowplan.runtime.out_of_tree.threads import OutOfTimeError


def beside(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


class Inside:
    """Somebody who is inside until reply_json to leave."""

    def __init__(self, gate: Exclusive, deadline: float | None) -> None:
        self._entered, self.leave = threading.Event(), threading.Event()

        def stay() -> None:
            with gate.entered("filter of pod d/slow", deadline):
                self._entered.set()
                self.leave.wait(60)

        self.thread = beside(stay)
        assert self._entered.wait(60)


def test_one_at_a_time() -> None:
    gate, inside, most = Exclusive(monotonic), [0], [0]

    def work() -> None:
        for _ in range(50):
            with gate.entered("x", monotonic() + 60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    threads = [beside(work) for _ in range(8)]
    for thread in threads:
        thread.join(60)
    assert (most[0], gate.stuck) == (1, 0)


def test_nobody_waits_longer_than_is_of_use() -> None:
    gate = Exclusive(monotonic)
    slow = Inside(gate, monotonic() + 60)
    with (
        pytest.raises(OutOfTimeError, match="plugins were busy with filter of pod d/slow all the time"),
        gate.entered("x", monotonic() + 0.05),
    ):
        pass
    slow.leave.set()
    slow.thread.join(60)
    with gate.entered("x", monotonic() + 60):
        pass


def test_who_hangs_is_overtaken() -> None:
    gate = Exclusive(monotonic)
    deadline = monotonic() + 0.05
    slow = Inside(gate, deadline)
    with gate.entered("x", monotonic() + 60):
        assert monotonic() >= deadline + OVERTAKE_AFTER_SECONDS
        assert gate.stuck == 1
        with pytest.raises(OutOfTimeError), gate.entered("y", monotonic() + 0.05):
            pass  # Others still wait for their turn,
        slow.leave.set()
        slow.thread.join(60)
        assert gate.stuck == 0
        with pytest.raises(OutOfTimeError), gate.entered("y", monotonic() + 0.05):
            pass  # also when the one that hung comes out.


def test_several_that_hang() -> None:
    now, stuck = 0.0, list[Inside]()
    gate = Exclusive(lambda: now)
    for _ in range(3):
        stuck.append(Inside(gate, now + 1))
        now += 2
    with gate.entered("x", now + 1):
        assert gate.stuck == 3
    for each in stuck:
        each.leave.set()
        each.thread.join(60)
    assert gate.stuck == 0


def test_without_a_deadline_nobody_is_overtaken() -> None:
    gate = Exclusive(monotonic)
    slow = Inside(gate, None)
    with pytest.raises(OutOfTimeError), gate.entered("x", monotonic() + 0.2):
        pass
    assert gate.stuck == 0
    slow.leave.set()


def test_changes_are_made_while_nobody_is_inside() -> None:
    gate, made = Exclusive(monotonic), list[int]()
    gate.apply(lambda: made.append(1))
    assert made == [1]
    with gate.entered("x", None):
        gate.apply(lambda: made.append(2))
        assert made == [1]
    assert made == [1, 2]


def test_changes_wait_for_one_who_hangs_until_somebody_overtakes() -> None:
    gate, made = Exclusive(monotonic), list[int]()
    slow = Inside(gate, monotonic() + 0.02)
    gate.apply(lambda: made.append(1))
    gate.apply(lambda: made.append(1 // 0))
    gate.apply(lambda: made.append(2))
    assert made == []
    with gate.entered("x", monotonic() + 60):
        assert made == [1, 2]
        gate.apply(lambda: made.append(3))
        slow.leave.set()
        slow.thread.join(60)
        assert made == [1, 2]  # The one that hung makes none: somebody is inside.
    assert made == [1, 2, 3]
