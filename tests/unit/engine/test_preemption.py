"""Carrying out a preemption: who goes in which order, and how long the preemptor is held back."""

from __future__ import annotations

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host
from tests.builders.objects import typed
from tests.unit.engine.recorder import Recorded

from stowplan.config import default_configuration
from stowplan.config.releases import RELEASES
from stowplan.framework import Evict, Failure, PatchStatus, Pod, Status, wait
from stowplan.runtime.preemption.search import TERMINATING

HIGH = pod("high", requests={"cpu": 3}, priority=9)
REFUSED = Failure("too many requests", "TooManyRequests")
NOT_FOUND = Failure('pods "x" not found', "NotFound")


def small(name: str, start: int = 0) -> dict[str, object]:
    return pod(name, "a", requests={"cpu": 1}, status={"startTime": f"2026-01-01T00:00:0{start}Z"})


def begun(*names: str, grace: float = 0.0) -> Host:
    """A preemptor has just found its victims, and nothing else has happened."""
    host = Host(node("a", cpu=3), *(small(name, i) for i, name in enumerate(names)), grace=grace)
    host.put(HIGH)
    host.engine.schedule_one()
    return host


def evictions(host: Host) -> list[str]:
    host.take()
    return [each.pod.name for each in host.open if isinstance(each, Evict)]


def preempting(host: Host) -> bool:
    return host.engine._preemptions.is_running(host.engine.pending["default/high"].pod)


def test_the_last_victim_goes_after_all_others() -> None:
    """Only then is its going a sign that all are gone."""
    host = begun("one", "two", "three")
    first = evictions(host)
    assert len(first) == 2
    host.do(host.next_open(Evict))
    assert len(evictions(host)) == 1
    host.do(host.next_open(Evict))
    (last,) = evictions(host)
    assert {*first, last} == {"one", "two", "three"}


def test_a_single_victim_goes_at_once() -> None:
    host = begun("one")
    assert evictions(host) == ["one"]


def test_the_preemptor_waits_until_the_last_victim_is_known_to_go() -> None:
    host = begun("one", "two", "three")
    assert preempting(host)
    for _ in range(2):
        host.do(host.next_open(Evict))
        host.deliver()
        assert preempting(host)
        assert host.place("high") in ("unschedulable", "gated")
    request = host.next_open(Evict)
    outcome = host.world.execute(request)
    host.deliver()
    assert not preempting(host), "the watch told before the answer came"
    assert host.place("high") == "backoff"
    host.do(request, outcome)
    host.schedule()
    assert host.node_of("high") == "a"


class TestWatchEventsInDelay:
    """Evictions have succeeded, and the watch does not show it yet."""

    def test_the_preemptor_stays_gated_when_another_pod_is_deleted(self) -> None:
        host = begun("one", "two", "three")
        host.put(node("b", cpu=1), pod("other", "b", requests={"cpu": 1}))
        for _ in range(3):
            host.do(host.next_open(Evict))
        assert preempting(host)
        host.engine.remove(typed(pod("other", "b", requests={"cpu": 1})))
        assert host.place("high") == "gated"
        assert not host.engine.schedule_one()
        host.deliver()
        assert not preempting(host)
        host.schedule()
        assert host.node_of("high") == "a"
        assert len([each for each in host.done if isinstance(each, Evict)]) == 3
        assert host.engine.cluster.evicted == set()
        assert not host.engine.preemptors

    def test_a_victim_is_not_evicted_for_another_preemptor_either(self) -> None:
        host = begun("one")
        host.do(host.next_open(Evict))
        host.engine.put(typed(pod("higher", requests={"cpu": 3}, priority=10)))
        host.engine.schedule_one()
        assert evictions(host) == []
        assert host.state.nominator.node_of(host.engine.pending["default/higher"].pod) == "a"

    def test_a_victim_that_leaves_makes_its_preemptor_ineligible(self) -> None:
        """One eviction succeeded and another was refused: the preemptor waits for the first victim to leave."""
        host = begun("one", "two", "three")
        host.put(pod("high", requests={"cpu": 3}, priority=9, nominated="a"))
        host.do(host.next_open(Evict))
        host.answer(Evict, REFUSED)
        host.clock.now += 1
        host.engine.tick()
        host.engine.schedule_one()
        assert evictions(host) == []
        assert TERMINATING in host.events("high")[-1]

    def test_a_deletion_without_grace_period_is_one_event(self) -> None:
        """The API server reports such a deletion twice: with the timestamp, then as removed."""
        host = begun("one")
        request = host.next_open(Evict)
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
        host.engine.put(typed(pod("one", "a", requests={"cpu": 1}, metadata=ending)))
        assert preempting(host)
        host.do(request)
        host.deliver()
        assert not preempting(host)
        host.schedule()
        assert host.node_of("high") == "a"

    def test_the_preemptor_may_go_first(self) -> None:
        host = begun("one")
        host.do(host.next_open(Evict))
        held, host.undelivered = host.undelivered, []
        host.delete(pod("high"))
        host.undelivered = held
        host.deliver()
        assert not host.engine.preemptors
        assert host.engine.cluster.evicted == set()

    def test_a_finalizer_keeps_a_deleted_pod(self) -> None:
        host = begun("one")
        ending = {
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 0,
            "finalizers": ["example.com/hold"],
        }
        host.engine.put(typed(pod("one", "a", requests={"cpu": 1}, metadata=ending)))
        assert not preempting(host)


def test_one_that_takes_its_time_to_end_is_going_all_the_same() -> None:
    host = begun("one", "two", grace=30.0)
    host.settle()
    assert not preempting(host)
    host.advance(29)
    assert host.node_of("high") == ""
    assert host.pod("one").metadata.deletion_timestamp is not None
    host.advance(2)
    assert host.node_of("high") == "a"


def test_victims_that_are_going_already_are_left_alone() -> None:
    host = Host(node("a", cpu=3), small("one"), small("two"), grace=60.0)
    host.delete(pod("one"))
    host.put(HIGH)
    host.engine.schedule_one()
    assert evictions(host) == ["two"]


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35"])
def test_kube_scheduler_before_1_35_evicts_them_once_more(version: str) -> None:
    config = default_configuration(RELEASES[version])
    host = Host(node("a", cpu=3), small("one"), small("two"), grace=60.0, config=config)
    host.delete(pod("one"))
    host.put(HIGH)
    host.engine.schedule_one()
    assert evictions(host) == (["two"] if version == "1.35" else ["one", "two"])
    host.settle()
    assert sum(note.startswith("Preempted: ") for note in host.events()) == (1 if version == "1.35" else 2)


def test_where_all_are_going_nothing_is_under_way() -> None:
    host = Host(node("a", cpu=3), small("one"), grace=60.0)
    host.delete(pod("one"))
    host.put(HIGH)
    host.engine.schedule_one()
    assert (evictions(host), preempting(host)) == ([], False)
    assert host.state.nominator.node_of(host.engine.pending["default/high"].pod) == "a"


class TestFailures:
    @pytest.mark.parametrize("place", [0, 1])
    def test_of_one_among_several_spares_the_last_and_wakes_the_preemptor(self, place: int) -> None:
        host = begun("one", "two", "three")
        host.take()
        requests = [each for each in host.open if isinstance(each, Evict)]
        host.do(requests[place], REFUSED)
        host.do(requests[1 - place])
        assert evictions(host) == []
        assert preempting(host)
        host.pass_time(host.next_deadline() or 0)
        assert (host.place("high"), preempting(host)) == ("active", False)

    def test_of_the_last_wakes_the_preemptor(self) -> None:
        host = begun("one")
        host.answer(Evict, REFUSED)
        assert preempting(host)
        host.pass_time(host.next_deadline() or 0)
        assert (host.place("high"), preempting(host)) == ("active", False)
        assert host.events("one") == []

    def test_again_and_again_become_rare(self) -> None:
        host = begun("one")
        pauses = []
        for _ in range(6):
            host.answer(Evict, REFUSED)
            began = host.clock()
            while preempting(host):
                host.pass_time(host.next_deadline() or 0)
            pauses.append(host.clock() - began)
            host.engine.schedule_one()
            host.take()
        assert pauses == [1, 2, 4, 8, 10, 10]
        host.settle()
        host.schedule()
        assert host.node_of("high") == "a"

    def test_a_victim_that_is_gone_is_no_failure_and_no_news(self) -> None:
        host = begun("one", "two")
        host.answer(Evict, NOT_FOUND)
        host.settle()
        assert len([each for each in host.events() if each.startswith("Preempted")]) == 1


def test_lower_nominations_of_the_node_are_cleared() -> None:
    host = Host(node("a", cpu=3), small("one"))
    for name, priority, nominated in (("lower", 5, "a"), ("equal", 9, "a"), ("elsewhere", 5, "b")):
        nowhere = {"nodeSelector": {"no": "node"}, "preemptionPolicy": "Never"}
        host.put(pod(name, priority=priority, nominated=nominated, **nowhere))
    host.schedule()
    host.done.clear()
    host.put(HIGH)
    host.engine.schedule_one()
    host.take()
    told = [(each.pod.name, each.nominated_node_name) for each in host.open if isinstance(each, PatchStatus)]
    assert told == [("lower", ""), ("high", "a")]


def test_a_preemptor_may_begin_again_before_the_first_preemption_has_ended() -> None:
    """Its victim is going, the answer is not there yet, and another node has become the better choice."""
    host = Host(node("a", cpu=3), small("one"), grace=60.0)
    host.put(HIGH)
    host.engine.schedule_one()
    first = host.next_open(Evict)
    outcome = host.world.execute(first)
    host.settle(Evict)
    host.put(node("a", cpu=3, unschedulable=True), node("b", cpu=3), pod("other", "b", requests={"cpu": 3}))
    host.state.queue.activate([host.engine.pending["default/high"].pod])
    host.schedule(Evict)
    assert evictions(host) == ["one", "other"]
    host.do(first, outcome)
    host.settle()
    assert not host.engine.preemptors
    host.advance(70)
    assert host.node_of("high") == "b"


def test_the_preemptor_may_go_before_its_victims() -> None:
    host = begun("one", "two")
    host.delete(pod("high"))
    host.settle()
    assert not host.engine.preemptors
    assert not host.state.nominator.by_node


def test_victims_in_memory_and_victims_on_the_node() -> None:
    """One waits on Permit, one runs; the first needs no request."""
    waits = {"permit": lambda asked: wait(60) if asked.name == "held" else None}
    host = Recorded(node("a", cpu=3), pod("held", requests={"cpu": 1}), answers=waits)
    host.schedule()
    host.put(small("one"), small("two"), HIGH)
    host.engine.schedule_one()
    host.settle()
    assert {each.pod.name for each in host.done if isinstance(each, Evict)} == {"one", "two"}
    assert host.place("held") == "error_backoff"
    host.schedule()
    assert host.node_of("high") == "a"


def test_deletions_do_not_wake_preemptors_that_wait_for_their_victims() -> None:
    """Each runs PreEnqueue once, at the first deletion, however many pods are deleted."""
    hosts = [f"n{i}" for i in range(8)]
    others = [f"other-{i}" for i in range(20)]
    host = Host(
        *(node(name, cpu=3) for name in hosts),
        *(pod(f"low-{name}", name, requests={"cpu": 2}) for name in hosts),
        *(pod(name, "n0", requests={"cpu": "10m"}) for name in others),
    )
    calls: list[str] = []
    run = host.state.queue._pre_enqueue

    def counted(preemptor: Pod, first: str) -> Status | None:
        calls.append(preemptor.name)
        return run(preemptor, first)

    host.state.queue._pre_enqueue = counted
    host.put(*(pod(f"high-{name}", requests={"cpu": 3}, priority=9) for name in hosts))
    while host.engine.schedule_one():
        pass
    calls.clear()
    host.delete(*(pod(name) for name in others))
    assert sorted(calls) == sorted(f"high-{name}" for name in hosts)
    host.settle()
    host.schedule()
    assert {host.node_of(f"high-{name}") for name in hosts} == set(hosts)
