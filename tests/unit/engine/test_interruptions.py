"""What becomes of a pod on its way to a node when it, or what it relies on, goes away."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import make, node, pod
from tests.builders.engine_host import Host
from tests.unit.engine.recorder import Recorded

from stowplan import api
from stowplan.config.releases import RELEASES
from stowplan.framework import ALL_EVENTS, Bind, Call, EmitEvent, Evict, Failure, Write, reject, wait

HIGH = pod("high", requests={"cpu": 2}, priority=9)
LOW = pod("low", requests={"cpu": 2})
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
IN_MEMORY = "Preempted: Preempted by pod default/high on node a (in kube-scheduler memory)."
EARLIER = ["1.33", "1.34", "1.35"]


def preempted(host: Host) -> tuple[str, ...]:
    """Events and status of the victim."""
    assert not [each for each in (*host.done, *host.open) if isinstance(each, Evict)]
    return host.condition("low")


class TestPreemption:
    def test_of_a_pod_that_waits_on_permit(self) -> None:
        waits = {"permit": lambda asked: wait(60) if asked.name == "low" else None}
        host = Recorded(node("a", cpu=2), LOW, answers=waits)
        host.schedule()
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle()
        text = "waiting on permit for pod: preempted"
        assert preempted(host) == ("False", "SchedulerError", text)
        assert host.events("low") == [f"FailedScheduling: {text}", IN_MEMORY]
        assert "unreserve a" in host.told
        assert host.place("low") == "error_backoff"
        host.schedule()
        assert host.node_of("high") == "a"
        assert host.pod("low").status.nominated_node_name == ""

    @pytest.mark.parametrize("release", EARLIER)
    def test_of_a_pod_that_waits_on_permit_before_v1_36(self, release: str) -> None:
        waits = {"permit": lambda asked: wait(60) if asked.name == "low" else None}
        host = Recorded(node("a", cpu=2), LOW, answers=waits, release=RELEASES[release])
        host.schedule()
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle()
        assert preempted(host) == ("False", "SchedulerError", "waiting on permit for pod: preempted")
        assert host.events("low")[-1] == IN_MEMORY.removesuffix(" (in kube-scheduler memory).")

    @pytest.mark.parametrize("release", EARLIER)
    def test_of_a_pod_in_pre_bind_before_v1_36(self, release: str) -> None:
        host = Recorded(node("a", cpu=2), LOW, release=RELEASES[release])
        host.engine.schedule_one()
        host.settle_until("pre_bind")
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle(Call)
        assert [each.pod.name for each in (*host.done, *host.open) if isinstance(each, Evict)] == ["low"]

    def test_of_a_pod_in_pre_bind(self) -> None:
        host = Recorded(node("a", cpu=2), LOW)
        host.engine.schedule_one()
        host.settle_until("pre_bind")
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle(Call)
        text = 'running PreBind plugin "Recorder": preempted by DefaultPreemption'
        assert preempted(host) == ("False", "SchedulerError", text)
        assert host.events("low") == [f"FailedScheduling: {text}", IN_MEMORY]
        host.schedule()
        assert (host.node_of("high"), host.node_of("low")) == ("a", "")

    def test_what_pre_bind_comes_to_after_that_does_not_matter(self) -> None:
        host = Recorded(node("a", cpu=2), LOW)
        host.engine.schedule_one()
        host.settle_until("pre_bind")
        late = host.next_open(Call)
        host.put(HIGH)
        host.engine.schedule_one()
        host.do(late, None)
        host.schedule()
        assert (host.node_of("high"), host.node_of("low")) == ("a", "")
        assert host.told.count("bind a") == 1

    def test_of_a_pod_whose_volumes_are_being_bound(self) -> None:
        host = Host(node("a", cpu=2), *storage())
        host.put(pod("low", requests={"cpu": 2}, volumes=[CLAIM]))
        host.schedule(Write)
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle(Write)
        text = 'running PreBind plugin "VolumeBinding": preempted by DefaultPreemption'
        assert preempted(host) == ("False", "SchedulerError", text)

    def test_of_a_pod_that_is_being_bound_takes_the_api_server(self) -> None:
        host = Recorded(node("a", cpu=2), LOW)
        host.schedule(Bind)
        host.put(HIGH)
        host.engine.schedule_one()
        host.settle(Bind)
        assert [each.pod.name for each in host.done if isinstance(each, Evict)] == ["low"]
        assert host.events("low") == ["Preempted: Preempted by pod default/high on node a"]
        assert host.assumed == set()
        host.settle()
        assert host.told[-1] == "unreserve a"


class TestGone:
    """The pod is deleted, or about to be."""

    @pytest.mark.parametrize("at_once", [True, False])
    def test_while_it_waits_on_permit(self, at_once: bool) -> None:
        host = Recorded(node("a", cpu=2), LOW, answers={"permit": wait(60)})
        host.schedule()
        go(host, at_once)
        assert (host.assumed, len(host.engine.waiting_pods)) == (set(), 0)
        assert "unreserve a" in host.told
        assert not host.engine.attempts
        if at_once:
            assert (host.events(), host.place("low")) == ([], "")
        else:
            assert host.events() == ["FailedScheduling: 0/1 nodes are available: 1 removed."]
            assert host.place("low") == "unschedulable"

    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.parametrize("point", ["permit", "pre_bind", "bind"])
    def test_while_a_plugin_is_asked(self, point: str, at_once: bool) -> None:
        """What it holds is free at once, although the plugin will answer only later."""
        host = Recorded(node("a", cpu=2), LOW)
        host.engine.schedule_one()
        host.settle_until(point)
        go(host, at_once)
        assert (host.assumed, set(host.engine.attempts)) == (set(), {"default/low"})
        host.schedule()
        assert host.since_reserve()[-1] == "unreserve a"
        assert not host.engine.attempts
        assert host.place("low") == ("" if at_once else "error_backoff")

    def test_while_a_plugin_is_asked_that_wants_it_to_wait(self) -> None:
        host = Recorded(node("a", cpu=2), LOW, answers={"permit": wait(60)})
        host.engine.schedule_one()
        go(host, at_once=True)
        host.settle()
        assert (len(host.engine.waiting_pods), host.state.timers.next_deadline()) == (0, None)
        assert not host.engine.attempts

    def test_it_does_not_come_back_while_its_attempt_lasts(self) -> None:
        host = Recorded(node("a", cpu=2), LOW)
        host.schedule(Bind)
        host.put(pod("low", requests={"cpu": 2}, metadata=DELETED))
        host.put(pod("low", requests={"cpu": 2}, metadata=DELETED, labels={"more": "news"}))
        assert host.place("low") == ""
        host.answer(Bind, Failure("no", "Conflict"))
        assert host.place("low") == "error_backoff"
        host.advance(3)
        assert host.events()[-1] == "FailedScheduling: skip schedule deleting pod: default/low"
        assert host.place("low") == ""

    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.parametrize("waits", [True, False])
    def test_others_hear_of_it(self, at_once: bool, waits: bool) -> None:
        """A pod that found no room is tried again."""
        host = Recorded(node("a", cpu=2), LOW, answers={"permit": wait(60) if waits else None})
        host.schedule(Bind)
        host.put(pod("other", requests={"cpu": 1}))
        host.schedule(Bind)
        assert host.place("other") == "unschedulable"
        go(host, at_once)
        assert host.place("other") == "backoff"


def test_bound_by_somebody_else_while_it_waits_on_permit() -> None:
    host = Recorded(node("a", cpu=2), node("b", cpu=2), LOW, answers={"permit": wait(60)})
    host.schedule()
    (where,) = [pod.node_name for pod in host.engine.cluster.pods.values()]
    host.put(pod("low", "a" if where == "b" else "b", requests={"cpu": 2}))
    assert (len(host.engine.waiting_pods), host.engine.attempts, host.engine.pending) == (0, {}, {})
    assert host.told[-1] == f"unreserve {where}"
    assert host.state.timers.next_deadline() is None
    assert host.events() == []


class TestOthersHear:
    """What a failed attempt held is told to those who found no room because of it."""

    @pytest.mark.parametrize("outcome", [Failure("no", "Conflict"), Failure("lost", "Timeout")])
    def test_of_a_binding_that_failed(self, outcome: Failure) -> None:
        host = Host(node("a", cpu=2), LOW)
        host.schedule(Bind)
        host.put(pod("other", requests={"cpu": 1}))
        host.schedule(Bind)
        host.answer(Bind, outcome)
        assert host.place("other") == "backoff"

    def test_of_a_permit_that_came_late(self) -> None:
        """No cycle but its own can have missed the room in kube-scheduler, where Permit is part of the cycle."""
        refuses = {"permit": lambda asked: reject("no") if asked.name == "low" else None}
        host = Recorded(node("a", cpu=2), LOW, answers=refuses)
        host.engine.schedule_one()
        host.put(pod("other", requests={"cpu": 1}))
        host.engine.schedule_one()
        assert host.place("other") == "unschedulable"
        host.settle()
        assert (host.place("other"), host.place("low")) == ("backoff", "unschedulable")

    def test_but_not_of_one_that_was_refused_at_once(self) -> None:
        refuses = {"permit": lambda asked: reject("no") if asked.name == "low" else None}
        host = Recorded(node("a", cpu=2), pod("other", requests={"cpu": 3}), answers=refuses)
        host.schedule()
        host.put(LOW)
        host.engine.schedule_one()
        host.settle()
        assert host.place("other") == "unschedulable"

    def test_the_pod_itself_does_not_wake_by_what_it_held(self) -> None:
        host = Recorded(node("a", cpu=2), LOW, answers={"permit": wait(5), "events_to_register": ALL_EVENTS})
        host.schedule()
        host.engine.waiting_pods.get("default/low").reject("Recorder", "no")
        assert host.place("low") == "unschedulable"

    def test_of_nothing_where_the_pod_was_bound_after_all(self) -> None:
        """The answer was lost, and the watch was faster."""
        host = Host(node("a", cpu=2), LOW)
        host.schedule(Bind)
        host.put(pod("other", requests={"cpu": 1}))
        host.schedule(Bind)
        host.put(pod("low", "a", requests={"cpu": 2}))
        host.answer(Bind, Failure("lost", "Timeout"))
        assert host.place("other") == "unschedulable"
        assert host.events("low") == []


def go(host: Host, at_once: bool) -> None:
    if at_once:
        host.delete(LOW)
    else:
        host.put(pod("low", requests={"cpu": 2}, metadata=DELETED))


CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}


def storage() -> list[Any]:
    waits = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    spec = {"storageClassName": "wait", "accessModes": ["ReadWriteOnce"]}
    size = {"resources": {"requests": {"storage": "1Gi"}}}
    return [
        make("StorageClass", "wait", **waits),
        make("PersistentVolumeClaim", "c", "default", spec={**spec, **size}),
    ]


@pytest.mark.parametrize("release", EARLIER)
def test_the_event_of_a_victim_refers_to_the_preemptor_before_v1_36(release: str) -> None:
    host = Recorded(node("a", cpu=2), LOW, release=RELEASES[release])
    host.schedule()
    host.put(HIGH)
    host.schedule()
    (event,) = [each for each in host.done if isinstance(each, EmitEvent) and each.reason == "Preempted"]
    assert event.related is not None
    assert (event.regarding.name, event.related.name) == ("low", "high")


def test_a_preemption_is_told_in_the_name_of_the_preemptors_profile() -> None:
    host = Host(node("a", cpu=2), {**LOW, "metadata": {**LOW["metadata"], "generation": 3}})
    host.schedule()
    host.put(HIGH)
    host.schedule()
    (event,) = [each for each in host.done if isinstance(each, EmitEvent) and each.reason == "Preempted"]
    assert (event.regarding.name, event.related, event.reporter) == ("low", None, "default-scheduler")
    assert (event.type, event.action) == ("Normal", "Preempting")
    (evict,) = [each for each in host.done if isinstance(each, Evict)]
    assert evict.condition == api.Condition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message="default-scheduler: preempting to accommodate a higher priority pod",
        observed_generation=3,
        last_transition_time=host.state.timestamp(),
    )
