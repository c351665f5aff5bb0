"""Callbacks at a later time."""

from __future__ import annotations

from tests.builders import Clock

from stowplan.engine.timers import Timers


def test_due_in_order_of_time_then_of_setting() -> None:
    clock, told = Clock(), list[str]()
    timers = Timers(clock)
    for name, seconds in (("late", 3.0), ("first", 1.0), ("second", 1.0), ("never", 9.0)):
        timers.after(seconds, lambda name=name: told.append(name))  # type: ignore[misc]
    timers.run_due()
    assert told == []
    clock.now += 3.0
    timers.run_due()
    assert told == ["first", "second", "late"]
    timers.run_due()
    assert told == ["first", "second", "late"]


def test_a_cancelled_timer_is_none() -> None:
    clock, told = Clock(), list[str]()
    timers = Timers(clock)
    gone = timers.after(1.0, lambda: told.append("gone"))
    timers.after(2.0, lambda: told.append("kept"))
    gone.cancel()
    assert timers.next_deadline() == 102.0
    clock.now += 5.0
    timers.run_due()
    assert told == ["kept"]
    assert timers.next_deadline() is None


def test_a_callback_may_set_another_one() -> None:
    clock, told = Clock(), list[str]()
    timers = Timers(clock)
    timers.after(1.0, lambda: timers.after(0.0, lambda: told.append("at once")) and None)
    timers.after(1.0, lambda: timers.after(1.0, lambda: told.append("later")) and None)
    clock.now += 1.0
    timers.run_due()
    assert told == ["at once"]
    assert timers.next_deadline() == 102.0
