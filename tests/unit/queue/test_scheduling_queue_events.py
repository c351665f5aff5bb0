from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.builders import SCHEDULER
from tests.unit.queue.fakes import NODE_ADD, NODE_DELETE, NODE_LABEL, PLUGINS, PV_ADD, Rig, make_pod, names

from stowplan.queue import QueueingHintMap, cluster_events


class TestEvents:
    @pytest.mark.parametrize(
        ("rejectors", "event", "new", "where"),
        [
            (["Adds"], NODE_ADD, "helps", "active"),
            (["Adds"], NODE_ADD, "", "unschedulable"),
            (["Adds"], NODE_LABEL, "helps", "unschedulable"),
            (["Labels"], NODE_LABEL, "helps", "active"),
            (["Labels", "Adds"], NODE_ADD, "helps", "active"),
            (["Always"], NODE_DELETE, "", "active"),
            (["Always"], PV_ADD, "", "unschedulable"),
            (["Unheard-of"], NODE_ADD, "helps", "unschedulable"),
            (["Unheard-of"], cluster_events.UNSCHEDULABLE_TIMEOUT, None, "active"),
        ],
    )
    def test_wake_those_whose_plugins_say_so(self, rejectors: list[str], event: Any, new: Any, where: str) -> None:
        rig = Rig()
        rig.rejected("p", *rejectors)
        rig.queue.move(event, None, new)
        assert rig.where() == where

    def test_wake_all_they_are_for(self) -> None:
        rig = Rig()
        for name, rejector in [("a", "Adds"), ("b", "Labels"), ("c", "Adds"), ("d", "Always")]:
            rig.rejected(name, rejector)
        rig.queue.move(NODE_ADD, None, "helps")
        assert names(rig.queue.active) == ["a", "c"]
        assert names(rig.queue.unschedulable) == ["b", "d"]

    def test_wake_pods_of_several_profiles_in_order(self) -> None:
        tables = {SCHEDULER: QueueingHintMap(PLUGINS), "second": QueueingHintMap({})}
        rig = Rig(hints=tables)
        for name, scheduler in [("a", "second"), ("b", SCHEDULER), ("c", "second"), ("d", SCHEDULER), ("e", "gone")]:
            rig.rejected(name, "Adds", schedulerName=scheduler)
        rig.queue.move(NODE_ADD, None, "helps")
        assert names(rig.queue.active) == ["b", "d", "e"]
        assert names(rig.queue.unschedulable) == ["a", "c"]

    def test_a_check_may_narrow_them(self) -> None:
        rig = Rig()
        rig.rejected("low", priority=1)
        rig.rejected("high", priority=5)
        rig.queue.move(NODE_ADD, None, "helps", pre_check=lambda pod: pod.priority <= 1)
        assert (rig.where("low"), rig.where("high")) == ("active", "unschedulable")

    def test_what_a_pending_plugin_waited_for_ends_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.fail(rig.pop(), "Labels", pending=["Adds"])
        rig.queue.move(NODE_LABEL, None, "helps")
        assert rig.where() == "backoff"
        rig.fail(rig.pop(), "Labels", pending=["Adds"])
        rig.queue.move(NODE_ADD, None, "helps")
        assert (rig.where(), unit.attempts) == ("active", 2)

    def test_of_pods_without_a_profile_wake_after_backoff(self) -> None:
        rig = Rig(hints={})
        rig.rejected()
        rig.queue.move(cluster_events.UNSCHEDULABLE_TIMEOUT, None, None)
        assert rig.where() == "active"

    def test_enter_the_queues_under_their_own_name(self) -> None:
        rig = Rig()
        rig.rejected()
        rig.queue.move(NODE_ADD, None, "helps")
        rig.fail(rig.pop(), "Adds")
        rig.queue.move(NODE_ADD, None, "helps")
        assert rig.entered == [
            ("active", "UnschedulablePodAdd"),
            ("unschedulable", "ScheduleAttemptFailure"),
            ("active", "NodeAdd"),
            ("unschedulable", "ScheduleAttemptFailure"),
            ("backoff", "NodeAdd"),
        ]


class TestInFlight:
    @pytest.mark.parametrize(
        ("rejectors", "pending", "where"),
        [
            (["Adds"], [], "backoff"),
            (["Labels"], [], "unschedulable"),
            (["Always"], [], "unschedulable"),
            (["Labels", "Adds"], [], "backoff"),
            (["Labels"], ["Adds"], "active"),
            (["Adds"], ["Labels"], "backoff"),
            ([], [], "error_backoff"),
        ],
    )
    def test_events_meanwhile_decide_where_a_unit_returns_to(
        self, rejectors: list[str], pending: list[str], where: str
    ) -> None:
        rig = Rig()
        rig.queue.add(make_pod("other"))
        rig.pop()
        rig.queue.move(NODE_LABEL, None, "too early")
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.queue.move(NODE_ADD, None, "helps")
        rig.queue.move(NODE_LABEL, None, "")
        rig.fail(unit, *rejectors, pending=pending)
        assert rig.where() == where

    def test_events_that_nobody_asked_for_are_not_kept(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        rig.pop()
        rig.queue.move(PV_ADD, None, None)
        assert rig.queue._in_flight.events == 0

    def test_done_is_final_and_may_be_repeated(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        uid = rig.pop().pod.uid
        assert (rig.queue.in_flight(uid), rig.queue.is_queued(uid)) == (True, False)
        for _ in range(2):
            rig.queue.done(uid)
            assert not rig.queue.in_flight(uid)

    def test_a_unit_that_returns_after_done_is_retried_after_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.queue.done(unit.pod.uid)
        rig.fail(unit, "Adds")
        assert rig.where() == "backoff"

    def test_a_unit_does_not_return_twice(self, caplog: pytest.LogCaptureFixture) -> None:
        rig = Rig()
        unit = rig.rejected()
        assert rig.queue.add_unschedulable(unit) is False
        assert unit.unschedulable_count == 1
        assert "Pod is already present in the scheduling queue (pod=default/p)" in caplog.messages

    def test_a_pod_is_not_in_flight_twice(self, caplog: pytest.LogCaptureFixture) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.queue.add(make_pod("p"))
        rig.queue.add(make_pod("q"))
        assert rig.pop().pod.name == "q"
        assert next(rig.queue.in_flight_pods) is unit
        assert (len(rig.queue), rig.queue.pop()) == (0, None)
        assert [record.levelno for record in caplog.records] == [logging.ERROR]

    def test_removal_leaves_a_unit_in_flight(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        rig.pop()
        rig.queue.remove(make_pod("p"))
        assert rig.where() == "in_flight_pods"


class TestActivate:
    @pytest.mark.parametrize("rejectors", [("Adds",), ()])
    def test_from_wherever_it_waits(self, rejectors: tuple[str, ...]) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        rig.fail(rig.pop(), *rejectors)
        rig.queue.activate([make_pod("unknown"), make_pod("p")])
        assert rig.where() == "active"
        assert rig.entered[-1] == ("active", "ForceActivate")
        rig.queue.activate([make_pod("p")])
        assert (len(rig.queue), rig.entered.count(("active", "ForceActivate"))) == (1, 1)

    def test_out_of_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.queue.move(NODE_ADD, None, "helps")
        rig.fail(unit, "Adds")
        assert rig.where() == "backoff"
        rig.queue.activate([make_pod("p")])
        assert rig.where() == "active"

    def test_in_flight_it_is_for_that_pod_alone(self) -> None:
        rig = Rig()
        for name in ("p", "q"):
            rig.queue.add(make_pod(name))
        p, q = rig.pop(), rig.pop()
        rig.queue.activate([make_pod("p")])
        rig.fail(p, "Labels")
        rig.fail(q, "Labels")
        assert (rig.where("p"), rig.where("q")) == ("backoff", "unschedulable")
