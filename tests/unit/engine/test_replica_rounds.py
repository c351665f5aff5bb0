"""Replicas wait together: an event wakes the first of them, and the next one while there is a node for it."""

from __future__ import annotations

from typing import Any

from tests.builders import node, pod
from tests.builders.engine_host import Host

from stowplan.engine.invariants import overlooked
from stowplan.framework import CycleState, Plugin, Pod, Status, reject, wait

ONE = {"requests": {"cpu": "1"}}


def full(replicas: int, *more: Any, **options: Any) -> Host:
    """A node with two running pods, which fill it, and replicas that wait; priorities forbid preemption."""
    running = [pod(f"running-{i}", "a", priority=100, **ONE) for i in range(2)]
    waiting = [pod(f"w{i}", **ONE) for i in range(replicas)]
    host = Host(node("a", cpu=2), *running, *waiting, *more, retry_replicas_in_turn=True, **options)
    host.schedule()
    return host


def attempts(host: Host) -> int:
    return host.state.cycle


def on_a(host: Host, *names: str) -> list[str]:
    return [name for name in names if host.node_of(name) == "a"]


def test_one_place_takes_one_attempt() -> None:
    host = full(10)
    before = attempts(host)
    host.delete(pod("running-0", "a"))
    host.schedule()
    assert on_a(host, *(f"w{i}" for i in range(10))) == ["w0"]
    assert attempts(host) == before + 1
    host.advance(60)
    assert attempts(host) == before + 1


def test_the_next_one_follows_while_there_is_room() -> None:
    host = full(5)
    host.put(node("b", cpu=3))
    host.schedule()
    assert [host.node_of(f"w{i}") for i in range(5)] == ["b", "b", "b", "", ""]
    assert not list(overlooked(host.engine))


def test_the_place_goes_to_the_highest_priority() -> None:
    host = full(5, *(pod(f"high-{i}", priority=7, **ONE) for i in range(3)))
    before = attempts(host)
    host.delete(pod("running-0", "a"))
    host.schedule()
    assert on_a(host, "w0", "w1", "high-0", "high-1") == ["high-0"]
    assert attempts(host) == before + 1, "the others went back without an attempt"


def test_events_of_other_plugins_wake_pods_that_these_reject_by_now() -> None:
    host = full(3)
    assert host.unit("w0").unschedulable_plugins == {"NodeResourcesFit"}
    taint = {"key": "k", "effect": "NoSchedule"}
    host.put(node("a", cpu=3, taints=[taint]))
    host.schedule()
    assert on_a(host, "w0", "w1", "w2") == []
    host.put(node("a", cpu=3))
    host.schedule()
    assert on_a(host, "w0", "w1", "w2") == ["w0"]


def test_a_pod_that_is_deleted_makes_way_for_the_next() -> None:
    host = full(3)
    host.delete(pod("running-0", "a"))
    host.delete(pod("w0"))
    host.schedule()
    assert on_a(host, "w1", "w2") == ["w1"]


def test_lower_priorities_that_could_be_victims_leave_it_to_attempts() -> None:
    host = full(3, pod("idle", "a", priority=-1))
    before = attempts(host)
    host.delete(pod("running-0", "a"))
    host.schedule()
    assert on_a(host, "w0", "w1", "w2") == ["w0"]
    assert attempts(host) == before + 3


class Choosy(Plugin):
    """Rejects a pod at Reserve by its name."""

    name = "Choosy"

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return reject("not this one") if pod.name == "w0" else None


def test_a_pod_that_reserve_rejects_makes_way_for_the_next() -> None:
    host = full(3, plugins={"Choosy": Choosy})
    host.delete(pod("running-0", "a"))
    host.schedule()
    assert on_a(host, "w0", "w1", "w2") == ["w1"]
    assert host.unit("w2").attempts == 1
    host.advance(30)
    assert host.unit("w0").attempts < 10


def test_a_pod_whose_template_changes_waits_for_itself() -> None:
    host = full(3)
    host.put(pod("w1", requests={"cpu": "1"}, labels={"new": "label"}))
    host.delete(pod("running-0", "a"), pod("running-1", "a"))
    host.schedule()
    assert sorted(on_a(host, "w0", "w1", "w2")) in (["w0", "w1"], ["w0", "w2"])
    assert not list(overlooked(host.engine))


class Gang(Plugin):
    """Lets pods wait on Permit until three of them do."""

    name = "Gang"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        waiting = list(self.handle.waiting_pods())
        if len(waiting) < 2:
            return wait(60.0)
        for other in waiting:
            other.allow(self.name)
        return None


def test_replicas_that_wait_for_each_other_on_permit() -> None:
    host = full(3, plugins={"Gang": Gang})
    host.put(node("b", cpu=3))
    host.schedule()
    assert [host.node_of(f"w{i}") for i in range(3)] == ["b", "b", "b"]


def test_pods_with_claims_of_their_own_do_not_stand_for_each_other() -> None:
    ephemeral = {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}
    host = Host(node("a"), pod("w0", **ephemeral), pod("w1", **ephemeral), pod("w2", **ephemeral))
    host.schedule()
    assert {host.place(name) for name in ("w0", "w1", "w2")} == {"unschedulable"}
    profile = host.engine.profiles["default-scheduler"]
    assert not any(profile.predicts(info.pod) for info in host.engine.queued_pods())
