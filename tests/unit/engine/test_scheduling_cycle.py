"""One scheduling cycle after another."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host

from stowplan.engine import Observer
from stowplan.framework import Bind, Pod, QueuedPodInfo, Status
from stowplan.runtime import Decision


def test_nothing_to_do() -> None:
    host = Host(node("a"))
    assert not host.engine.schedule_one()
    assert host.state.cycle == 0


def test_one_pod_at_a_time() -> None:
    host = Host(node("a"), pod("p"), pod("q", priority=5))
    assert host.engine.schedule_one()
    assert host.assumed == {"q"}
    assert host.engine.schedule_one()
    assert host.assumed == {"p", "q"}
    assert not host.engine.schedule_one()


def test_a_pod_that_is_being_deleted_is_not_tried() -> None:
    host = Host(node("a"), pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    host.schedule()
    assert host.events() == ["FailedScheduling: skip schedule deleting pod: default/p"]
    assert (host.node_of("p"), host.place("p")) == ("", "")
    assert not host.state.queue.in_flight("default/p")


def test_a_pod_that_is_assumed_is_not_tried_again() -> None:
    host = Host(node("a"), pod("p"), check_invariants=False)
    host.schedule(Bind)
    host.state.queue.add(host.engine.cluster.pods["default/p"])
    assert host.engine.schedule_one()
    assert host.engine.take() == []
    assert not host.state.queue.in_flight("default/p")


def test_a_bug_of_ours_costs_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(node("a"), pod("p"), pod("q"))
    profile = host.engine.profiles["default-scheduler"]
    decide = profile.decide

    def broken(asked: Pod) -> Decision:
        if asked.name == "p":
            raise KeyError("lost")
        return decide(asked)

    monkeypatch.setattr(profile, "decide", broken)
    host.schedule()
    assert host.condition("p") == ("False", "SchedulerError", "internal error: KeyError: 'lost'")
    assert (host.place("p"), host.node_of("q")) == ("error_backoff", "a")


class Told(Observer):
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def decided(self, unit: QueuedPodInfo, decision: Decision) -> None:
        self.told.append(("decided", unit.pod.name, unit.attempts, decision.node_name))

    def bound(self, unit: QueuedPodInfo, node_name: str) -> None:
        self.told.append(("bound", unit.pod.name, node_name))

    def attempt_failed(self, unit: QueuedPodInfo, status: Status) -> None:
        self.told.append(("failed", unit.pod.name, status.code.name))

    def victim_evicted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        self.told.append(("preempted", preemptor.name, victim.name, node_name))


def test_an_observer_hears_of_every_step() -> None:
    observer = Told()
    host = Host(node("a", cpu=2), pod("low", requests={"cpu": 2}), observer=observer)
    host.schedule()
    host.put(pod("high", requests={"cpu": 2}, priority=9))
    host.schedule()
    assert observer.told == [
        ("decided", "low", 1, "a"),
        ("bound", "low", "a"),
        ("decided", "high", 1, ""),
        ("failed", "high", "Unschedulable"),
        ("preempted", "high", "low", "a"),
        ("decided", "high", 2, "a"),
        ("bound", "high", "a"),
    ]


def test_retries_are_counted_and_spaced() -> None:
    host = Host(pod("p"))
    times = []
    for _ in range(5):
        host.schedule()
        times.append(host.clock.now)
        due = host.engine.next_deadline()
        assert due is not None
        host.pass_time(due)
    assert host.unit("p").attempts == 5
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == [2.0, 3.0, 5.0, 9.0], "the seconds of backoff, and the one in which it ends"
