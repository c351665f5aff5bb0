from __future__ import annotations

from typing import Any

import pytest
from tests.unit.queue.fakes import NODE_ADD, NODE_DELETE, NODE_LABEL, Rig, make_pod, names, pop_all

from stowplan.framework import Code, Status


@pytest.mark.parametrize("keyed", [True, False])
def test_popped_by_priority_then_time_then_arrival(keyed: bool) -> None:
    rig = Rig(keyed=keyed)
    for name, priority, time in [("a", 0, 2.0), ("b", 0, 1.0), ("c", 5, 3.0), ("d", 0, 1.0), ("e", 0, 1.0)]:
        rig.clock.now = time
        rig.queue.add(make_pod(name, priority))
    rig.queue.remove(make_pod("d"))
    assert names(rig.queue.active) == ["c", "b", "e", "a"]
    assert pop_all(rig) == ["c", "b", "e", "a"]
    assert rig.queue.pop() is None


def test_a_pod_is_told_apart_by_its_uid() -> None:
    rig = Rig()
    rig.queue.add(make_pod("p"))
    rig.queue.add(make_pod("p", metadata={"uid": "another"}))
    assert (len(rig.queue), pop_all(rig)) == (2, ["p", "p"])


def test_adding_a_known_pod_replaces_it() -> None:
    rig = Rig()
    unit = rig.rejected()
    rig.queue.add(make_pod("p", labels={"new": "yes"}))
    assert rig.where() == "active"
    again = rig.pop()
    assert again is not unit
    assert (again.attempts, again.pod.labels, len(rig.queue)) == (1, {"new": "yes"}, 0)


def test_attempts_and_times() -> None:
    rig = Rig(start=5.5)
    rig.queue.add(make_pod("p"))
    unit = rig.pop()
    assert (unit.attempts, unit.timestamp, unit.initial_attempt_timestamp) == (1, 5.5, 5.5)
    rig.clock.now = 7.0
    rig.fail(unit, "Adds")
    rig.queue.activate([unit.pod])
    assert rig.pop() is unit
    assert (unit.attempts, unit.timestamp, unit.initial_attempt_timestamp) == (2, 7.0, 5.5)


def test_rejections_and_errors_are_counted_apart() -> None:
    rig = Rig()
    rig.queue.add(make_pod("p"))
    unit = rig.pop()
    seen = []
    for rejectors in [(), (), ("Adds",), ("Adds",), (), ("Labels",)]:
        rig.fail(unit, *rejectors)
        seen.append((unit.unschedulable_count, unit.consecutive_errors, rig.where()))
        rig.queue.activate([unit.pod])
        assert rig.pop() is unit
    assert seen == [
        (0, 1, "error_backoff"),
        (0, 2, "error_backoff"),
        (1, 0, "unschedulable"),
        (2, 0, "unschedulable"),
        (2, 1, "error_backoff"),
        (3, 0, "unschedulable"),
    ]


class TestGates:
    def test_keep_new_pods_out(self) -> None:
        rig = Rig(start=1.0)
        rig.gated["p"] = "Gate"
        rig.queue.add(make_pod("p", nominated="n"))
        assert (rig.where(), rig.queue.pop(), rig.entered) == (
            "gated",
            None,
            [("unschedulable", "UnschedulablePodAdd")],
        )
        (unit,) = rig.queue.gated
        assert (unit.gating_plugin, unit.unschedulable_plugins) == ("Gate", {"Gate"})
        assert (unit.initial_attempt_timestamp, rig.nominator.by_node) == (None, {})

    def test_time_behind_them_does_not_count(self) -> None:
        rig = Rig(start=1.0)
        rig.gated["p"] = "Gate"
        rig.queue.add(make_pod("p"))
        rig.clock.now = 9.0
        rig.gated.clear()
        rig.queue.activate([make_pod("p")])
        unit = rig.pop()
        assert (unit.timestamp, unit.initial_attempt_timestamp, unit.gated) == (1.0, 9.0, False)

    def test_whoever_gates_is_asked_first(self) -> None:
        rig = Rig()
        for plugin in ("Gate", "Adds"):
            rig.gated["p"] = plugin
            if plugin == "Gate":
                rig.queue.add(make_pod("p"))
            rig.queue.activate([make_pod("p")])
        (unit,) = rig.queue.gated
        assert (unit.gating_plugin, unit.unschedulable_plugins) == ("Adds", {"Gate", "Adds"})
        rig.gated.clear()
        rig.queue.move(NODE_ADD, None, "helps")
        assert rig.where() == "active"
        assert [first for _, first in rig.asked] == ["", "Gate", "Gate", "Adds"]

    @pytest.mark.parametrize(("event", "asks"), [(NODE_ADD, True), (NODE_LABEL, False), (NODE_DELETE, False)])
    def test_events_concern_the_gating_plugin_alone(self, event: Any, asks: bool) -> None:
        rig = Rig()
        unit = rig.rejected("p", "Labels", "Always")
        rig.gated["p"] = "Adds"
        rig.queue.activate([unit.pod])
        assert rig.where() == "gated"
        rig.asked.clear()
        rig.queue.move(event, None, "helps")
        assert rig.asked == ([("p", "Adds")] if asks else [])

    def test_are_not_looked_at_after_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.fail(unit)
        rig.asked.clear()
        rig.gated["p"] = "Gate"
        rig.queue.activate([unit.pod])
        assert (rig.where(), rig.asked) == ("active", [])

    def test_are_looked_at_on_the_way_into_backoff(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("p"))
        unit = rig.pop()
        rig.gated["p"] = "Gate"
        rig.fail(unit)
        assert (rig.where(), unit.unschedulable_plugins) == ("gated", {"Gate"})

    def test_a_pod_update_opens_them(self) -> None:
        rig = Rig()
        rig.gated["p"] = "Gate"
        old = make_pod("p", schedulingGates=[{"name": "g"}])
        rig.queue.add(old)
        rig.gated.clear()
        rig.queue.update(old, make_pod("p"))
        assert rig.where() == "active"

    def test_plugins_that_fail_are_gates_too(self, caplog: pytest.LogCaptureFixture) -> None:
        rig = Rig()
        rig.queue._pre_enqueue = lambda pod, first: Status(Code.Error, "no idea", plugin="Gate")
        rig.queue.add(make_pod("p"))
        assert rig.where() == "gated"
        assert caplog.messages == ["Unexpected error running PreEnqueue plugin: no idea (pod=default/p, plugin=Gate)"]


def test_counts_and_views() -> None:
    rig = Rig()
    rig.rejected("u", "Labels")
    rig.gated["g"] = "Gate"
    for name in ("g", "e", "b", "f", "a"):
        rig.queue.add(make_pod(name))
    e, b, _ = rig.pop(), rig.pop(), rig.pop()
    rig.fail(e)
    rig.queue.move(NODE_ADD, None, "helps")
    rig.fail(b, "Adds")
    assert rig.queue.counts() == {"active": 1, "backoff": 2, "unschedulable": 1, "gated": 1}
    assert [rig.where(name) for name in "abegfu"] == [
        "active",
        "backoff",
        "error_backoff",
        "gated",
        "in_flight_pods",
        "unschedulable",
    ]
    assert len(rig.queue) == 5
    for name in "abegu":
        rig.queue.remove(make_pod(name))
    assert (len(rig.queue), rig.queue.next_deadline(), rig.queue.pop()) == (0, None, None)
