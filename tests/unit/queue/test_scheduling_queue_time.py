from __future__ import annotations

from math import inf

from tests.unit.queue.fakes import NODE_ADD, Rig, make_pod, pop_all


class TestBackoff:
    def test_ends_with_its_second(self) -> None:
        rig = Rig(start=100.5)
        rig.queue.add(make_pod("p"))
        rig.fail(rig.pop())
        assert rig.queue.next_deadline() == 102.0
        for now, where in [(101.5, "error_backoff"), (101.99, "error_backoff"), (102.0, "active")]:
            rig.clock.now = now
            rig.queue.tick()
            assert rig.where() == where
        assert rig.queue.next_deadline() is None

    def test_units_of_one_second_end_together_in_the_order_of_the_active_queue(self) -> None:
        rig = Rig(start=100.1)
        for name, priority in [("low", 1), ("high", 9)]:
            rig.queue.add(make_pod(name, priority))
        high, low = rig.pop(), rig.pop()
        rig.fail(low)
        rig.clock.now = 100.9
        rig.fail(high)
        rig.clock.now = 102.0
        rig.queue.tick()
        assert pop_all(rig) == ["high", "low"]

    def test_rejected_units_are_popped_early_if_nobody_is_active(self) -> None:
        rig = Rig(start=100.5)
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.queue.move(NODE_ADD, None, "helps")
        rig.fail(unit, "Adds")
        assert rig.where() == "backoff"
        rig.queue.add(make_pod("q"))
        rig.entered.clear()
        assert pop_all(rig) == ["q", "p"]
        assert rig.entered == [("active", "PopFromBackoffQ")]

    def test_units_that_met_an_error_are_not(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        rig.fail(rig.pop())
        assert rig.queue.pop() is None
        assert rig.where() == "error_backoff"

    def test_is_over_for_units_that_were_unschedulable_for_longer(self) -> None:
        rig = Rig(start=100.0)
        rig.queue.add(make_pod("p"))
        unit = rig.fail(rig.pop(), "Adds")
        rig.clock.now = 101.9
        rig.queue.move(NODE_ADD, None, "helps")
        assert rig.where() == "backoff"
        rig.fail(rig.pop(), "Adds")
        rig.clock.now = 105.0
        rig.queue.move(NODE_ADD, None, "helps")
        assert (rig.where(), unit.unschedulable_count) == ("active", 2)


class TestFlush:
    def test_after_the_timeout_at_the_next_mark(self) -> None:
        rig = Rig(start=1000.0)
        rig.clock.now = 1010.0
        rig.queue.add(make_pod("p"))
        unit = rig.fail(rig.pop(), "Labels")
        assert rig.queue.next_deadline() == 1330.0
        for now, where in [
            (1300.0, "unschedulable"),
            (1310.5, "unschedulable"),
            (1329.9, "unschedulable"),
            (1330.0, "active"),
        ]:
            rig.clock.now = now
            rig.queue.tick()
            assert rig.where() == where
        assert (unit.was_flushed, unit.flush_timestamp) == (True, 1330.0)
        assert rig.entered[-1] == ("active", "UnschedulableTimeout")
        rig.fail(rig.pop(), "Labels")
        assert (unit.was_flushed, unit.flush_timestamp, rig.queue.next_deadline()) == (False, -inf, 1660.0)

    def test_not_at_the_timeout_but_after(self) -> None:
        rig = Rig(start=1000.0)
        rig.queue.add(make_pod("p"))
        rig.fail(rig.pop(), "Labels")
        assert rig.queue.next_deadline() == 1330.0
        rig.clock.now = 1300.0
        rig.queue.tick()
        assert rig.where() == "unschedulable"

    def test_of_gated_pods_asks_again(self) -> None:
        rig = Rig(start=1000.0)
        rig.gated["p"] = "Gate"
        rig.queue.add(make_pod("p"))
        deadlines = []
        for _ in range(2):
            deadline = rig.queue.next_deadline()
            assert deadline is not None
            rig.clock.now = deadline
            rig.queue.tick()
            deadlines.append(deadline)
        assert (rig.where(), deadlines, len(rig.asked)) == ("gated", [1330.0, 1660.0], 3)
        (unit,) = rig.queue.gated
        assert (unit.was_flushed, unit.flush_timestamp) == (False, 1660.0)

    def test_is_an_event_for_those_in_flight(self) -> None:
        rig = Rig()
        rig.rejected("old", "Labels")
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.clock.now += 400.0
        rig.queue.tick()
        rig.fail(unit, "Labels")
        assert rig.where() == "backoff"

    def test_late_ticks_keep_the_marks(self) -> None:
        rig = Rig(start=1000.0, unschedulable_timeout=20.0)
        rig.rejected("p", "Labels")
        rig.clock.now = 1095.0
        rig.queue.tick()
        assert rig.where() == "active"
        rig.fail(rig.pop(), "Labels")
        assert rig.queue.next_deadline() == 1120.0

    def test_a_unit_that_has_gone_costs_one_idle_tick_at_most(self) -> None:
        rig = Rig(start=1000.0)
        early = rig.rejected("early", "Labels")
        rig.clock.now = 1200.0
        rig.queue.add(make_pod("late"))
        rig.fail(rig.pop(), "Labels")
        rig.queue.remove(early.pod)
        assert rig.queue.next_deadline() == 1330.0
        rig.clock.now = 1330.0
        rig.queue.tick()
        assert rig.queue.next_deadline() == 1510.0
