"""Taking turns, and what is done about those who do not come out."""

import threading
import time
from collections.abc import Callable
from time import monotonic

import pytest

from stowplan.extender.handlers import OutOfTimeError
from stowplan.extender.handlers.gate import GRACE, Gate


def beside(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


class Inside:
    """Somebody who is inside until told to leave."""

    def __init__(self, gate: Gate, seconds: float | None) -> None:
        self._entered, self.leave = threading.Event(), threading.Event()

        def stay() -> None:
            with gate.entered("filter of pod d/slow", None if seconds is None else monotonic() + seconds):
                self._entered.set()
                self.leave.wait(10)

        self.thread = beside(stay)
        self._entered.wait(5)

    def come_out(self) -> None:
        self.leave.set()
        self.thread.join(5)


def test_one_at_a_time() -> None:
    gate, inside, most = Gate(monotonic), [0], [0]

    def work() -> None:
        for _ in range(50):
            with gate.entered("x", monotonic() + 10):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    threads = [beside(work) for _ in range(8)]
    for thread in threads:
        thread.join(10)
    assert (most[0], gate.stuck) == (1, 0)


def test_who_hangs_is_overtaken() -> None:
    gate = Gate(monotonic)
    slow = Inside(gate, 0.05)
    began = monotonic()
    with gate.entered("x", monotonic() + 5):
        assert GRACE < monotonic() - began < 2
        assert gate.stuck == 1
        with pytest.raises(OutOfTimeError), gate.entered("y", monotonic() + 0.05):
            pytest.fail("others still wait for their turn")
        slow.come_out()
        assert gate.stuck == 0
        with pytest.raises(OutOfTimeError), gate.entered("y", monotonic() + 0.05):
            pytest.fail("also when the one that hung has come out")


def test_several_that_hang() -> None:
    gate = Gate(monotonic)
    stuck = [Inside(gate, seconds) for seconds in (0.02, 0.4, 0.8)]
    with gate.entered("x", monotonic() + 5):
        assert gate.stuck == 3
    for each in stuck:
        each.come_out()
    assert gate.stuck == 0


def test_without_a_deadline_nobody_is_overtaken() -> None:
    gate = Gate(monotonic)
    slow = Inside(gate, None)
    with pytest.raises(OutOfTimeError), gate.entered("x", monotonic() + 0.2):
        pytest.fail("two are inside")
    assert gate.stuck == 0
    slow.come_out()


def test_changes_wait_for_one_who_hangs_until_somebody_overtakes() -> None:
    gate, made = Gate(monotonic), list[int]()
    slow = Inside(gate, 0.02)
    for number in (1, 2):
        gate.apply(lambda number=number: made.append(number))  # type: ignore[misc]
    assert made == []
    with gate.entered("x", monotonic() + 5):
        assert made == [1, 2]
        gate.apply(lambda: made.append(3))
        slow.come_out()
        assert made == [1, 2]  # The one that hung makes none: somebody is inside.
    assert made == [1, 2, 3]
