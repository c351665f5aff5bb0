"""Pod groups in the engine: queue, cycle, binding, requeueing, conditions."""

from __future__ import annotations

import pytest
from tests.builders import make, member, node, pod
from tests.builders.engine_host import Host
from tests.unit.engine.grouped import CPU, bound, condition, group, host, host_of_two_schedulers, members, message

from stowplan import api
from stowplan.api.pod_group import COSCHEDULING_LABEL
from stowplan.config import default_configuration
from stowplan.config.feature_gates import COSCHEDULING_GATES, GANG_SCHEDULING, TOPOLOGY_AWARE
from stowplan.config.releases import RELEASES
from stowplan.framework import EmitEvent


def test_a_gang_is_bound_as_a_whole() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    made.schedule()
    assert bound(made) == {"g-0": "n", "g-1": "n", "g-2": "n"}
    assert condition(made) == ("True", "Scheduled", "")


def test_members_wait_for_the_group_and_for_each_other() -> None:
    made = host(node("n", cpu=4), *members(2))
    made.schedule()
    assert made.engine.queue_counts()["gated"] == 2
    made.put(group(min_count=3))
    made.schedule()
    assert made.engine.queue_counts()["gated"] == 2
    made.put(member("g-2", **CPU))
    made.schedule()
    assert len(bound(made)) == 3
    assert not [each for each in made.done if isinstance(each, EmitEvent) and each.reason == "FailedScheduling"]


def test_none_is_bound_if_too_few_fit() -> None:
    made = host(node("n", cpu=3), group(min_count=4), *members(4))
    made.schedule()
    assert bound(made) == {}
    assert condition(made) == ("False", "Unschedulable", "pod group is unschedulable")
    waiting = (
        "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
        "one or more plugins asked to wait and no plugin rejected pod"
    )
    assert [message(made, f"g-{i}") for i in range(3)] == [waiting] * 3
    assert message(made, "g-3").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert not made.engine.cluster.pods


def test_a_group_that_does_not_fit_waits_for_an_event() -> None:
    made = host(node("n", cpu=3), group(min_count=4), *members(4))
    made.advance(60)
    assert made.state.cycle == 1
    assert made.engine.queue_counts()["unschedulable"] == 4
    made.put(node("more", cpu=1))
    made.schedule()
    assert len(bound(made)) == 4


def test_groups_that_do_not_fit_leave_the_engine_idle() -> None:
    """Conditions are written and come back as events, pods without a group are bound, and time passes: no group is
    tried a second time before the timeout of unschedulable pods, and once after it."""
    made = host(node("n", cpu=8), *(group(f"g{i}", 4) for i in range(6)))
    made.put(*(each for i in range(6) for each in members(4, f"g{i}", requests={"cpu": "4"})))
    made.put(*(pod(f"plain-{i}", **CPU) for i in range(4)))
    made.advance(20)
    assert len(bound(made)) == 4
    settled = made.state.cycle
    conditions = [condition(made, f"g{i}") for i in range(6)]
    assert conditions == [("False", "Unschedulable", "pod group is unschedulable")] * 6
    made.done.clear()
    made.advance(270)
    assert (made.state.cycle, made.done) == (settled, [])
    made.advance(60)
    assert made.state.cycle == settled + 6


def test_a_group_without_a_placement_waits_for_a_node() -> None:
    """kube-scheduler retries it every ten seconds."""
    gates = (GANG_SCHEDULING, TOPOLOGY_AWARE)
    made = host(node("n", cpu=4), group(min_count=2, rack="rack"), *members(2), gates=gates)
    made.advance(120)
    assert condition(made) == ("False", "Unschedulable", "no feasible placements found")
    assert made.state.cycle == 1
    made.put(node("other", cpu=4), node("n", cpu=5))
    made.advance(5)
    assert made.state.cycle == 1
    made.put(node("n", cpu=4, labels={"rack": "r1"}))
    made.schedule()
    assert bound(made) == {"g-0": "n", "g-1": "n"}


def test_a_group_tied_to_a_domain_that_is_gone_waits_for_its_member() -> None:
    gates = (GANG_SCHEDULING, TOPOLOGY_AWARE)
    gone = member("g-0", nodeName="n", **CPU)
    made = host(node("n", cpu=4, labels={"rack": "r0"}), group(min_count=1, rack="rack"), gone, gates=gates)
    made.delete(node("n"))
    made.put(node("m", cpu=4, labels={"rack": "r1"}), *members(2)[1:])
    made.advance(5)
    assert condition(made) == (
        "False",
        "SchedulerError",
        "cannot determine domain for already scheduled pods: getting node for pod default/g-0: "
        'nodeinfo not found for node name "n"',
    )
    made.delete(gone)
    made.advance(20)
    assert bound(made) == {"g-1": "m"}


def test_a_gang_short_of_a_gated_member_waits_for_it() -> None:
    """kube-scheduler retries it every ten seconds."""
    gated = member("g-gated", schedulingGates=[{"name": "later"}], **CPU)
    made = host(node("n", cpu=4), group(min_count=3), *members(2), gated)
    made.advance(120)
    assert made.state.cycle == 1
    made.put(member("g-gated", **CPU))
    made.schedule()
    assert len(bound(made)) == 3


def test_a_group_backs_off_as_a_unit() -> None:
    made = host(node("n", cpu=1), group(min_count=3), *members(3))
    made.schedule()
    made.put(pod("blocks", **CPU))  # Keeps the active queue from being empty.
    made.put(member("g-late", **CPU))
    made.schedule()
    counts = {queued.unschedulable_count for queued in made.engine.queued_pods() if queued.pod.name != "blocks"}
    assert counts == {2}


def test_the_deletion_of_the_member_that_events_wake_leaves_the_others_awake() -> None:
    made = host(node("n", cpu=1), group(min_count=2), *members(3, requests={"cpu": "2"}))
    made.schedule()
    made.delete(member("g-0", **CPU))
    made.put(node("big", cpu=4))
    made.schedule()
    assert bound(made) == {"g-1": "big", "g-2": "big"}


def test_members_beyond_the_minimum_are_left_over_and_follow() -> None:
    made = host(node("n", cpu=3), group(min_count=2), *members(4))
    made.schedule()
    assert len(bound(made)) == 3
    assert condition(made) == ("True", "Scheduled", "")
    made.put(node("more", cpu=1))
    made.schedule()
    assert len(bound(made)) == 4


def test_members_in_order_of_names() -> None:
    """kube-scheduler's order among members that arrive together is random."""
    made = host(node("n", cpu=2), *reversed(members(3)))
    made.put(group(min_count=2))
    made.schedule()
    assert sorted(bound(made)) == ["g-0", "g-1"]


def test_without_the_gang_plugin_the_minimum_is_ignored() -> None:
    made = host(node("n", cpu=2), group(min_count=3), *members(3), gates=())
    made.schedule()
    assert len(bound(made)) == 2


def test_members_of_two_schedulers_fail() -> None:
    made = host_of_two_schedulers(
        node("n"), group(min_count=2), member("a", **CPU), member("b", schedulerName="other", **CPU)
    )
    made.schedule()
    names = '"other" and "default-scheduler"'
    text = f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
    assert {message(made, "a"), message(made, "b")} == {text}
    assert condition(made) is None


def test_topology() -> None:
    racks = [node(f"n{i}", cpu=1, labels={"rack": "small" if i < 2 else "large"}) for i in range(5)]
    gates = (GANG_SCHEDULING, TOPOLOGY_AWARE)
    made = host(*racks, group(min_count=3, rack="rack"), *members(3), gates=gates)
    made.schedule()
    assert sorted(bound(made).values()) == ["n2", "n3", "n4"]


def coscheduling(version: str = "1.36") -> Host:
    release = RELEASES[version].with_gates(COSCHEDULING_GATES)
    return Host(node("n", cpu=2), config=default_configuration(release))


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35", "1.36"])
def test_pod_groups_of_the_plugin_coscheduling(version: str) -> None:
    made = coscheduling(version)
    labelled = [pod(f"p-{i}", labels={COSCHEDULING_LABEL: "g"}, **CPU) for i in range(3)]
    made.put(*labelled)
    made.schedule()
    assert made.engine.queue_counts()["gated"] == 3
    crd = make("CoschedulingPodGroup", "g", "default", spec={"minMember": 3})
    made.put(crd)
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods
    made.put(node("more", cpu=1))
    made.schedule()
    assert len(bound(made)) == 3
    made.put(pod("plain"))
    made.schedule()
    assert "plain" in bound(made)


@pytest.mark.parametrize("racks", [2, 5], ids=["one after the other", "in parallel"])
def test_events_that_help_in_any_placement_wake_a_group(racks: int) -> None:
    """Messages are about the first placement, whose node is tainted; a pod in the last one ends."""
    taint = {"key": "k", "effect": "NoSchedule"}
    nodes = [
        node(f"n{i}", cpu=2, labels={"rack": f"r{i}"}, taints=[taint] if i < racks - 1 else []) for i in range(racks)
    ]
    running = pod("running", f"n{racks - 1}", requests={"cpu": "1"})
    gang = group(min_count=2, rack="rack")
    made = host(*nodes, running, gang, *members(2), gates=(GANG_SCHEDULING, TOPOLOGY_AWARE))
    made.schedule()
    assert bound(made) == {"running": f"n{racks - 1}"}
    assert "untolerated taint" in message(made, "g-0")
    found = made.world.get(api.Pod, "running", "default")
    assert found is not None
    made.world.delete(found)
    made.deliver()
    made.pass_time(made.clock.now + 30)
    made.schedule()
    assert bound(made) == {"g-0": f"n{racks - 1}", "g-1": f"n{racks - 1}"}


def test_a_group_short_in_one_placement_is_woken_by_events_of_another() -> None:
    """In the first rack the member passes, but the gang is short of a gated member; the other rack rejects."""
    taint = {"key": "k", "effect": "NoSchedule"}
    gated = member("g-gated", schedulingGates=[{"name": "later"}], **CPU)
    racks = [node("n0", cpu=2, labels={"rack": "r0"}), node("n1", cpu=2, labels={"rack": "r1"}, taints=[taint])]
    made = host(*racks, group(min_count=2, rack="rack"), *members(1), gated, gates=(GANG_SCHEDULING, TOPOLOGY_AWARE))
    made.schedule()
    assert bound(made) == {}
    made.delete(gated)
    made.put(member("g-1", **CPU))
    made.advance(30)
    assert set(bound(made)) == {"g-0", "g-1"}


def test_a_member_bound_by_others_wakes_the_gang() -> None:
    made = host(node("n", cpu=1), group(min_count=2), *members(2))
    made.schedule()
    assert bound(made) == {}
    made.put(member("g-other", **CPU, nodeName="elsewhere"))
    made.advance(30)
    assert {name: on for name, on in bound(made).items() if name != "g-other"} == {"g-0": "n"}


def test_a_new_podgroup_with_another_minimum_wakes_the_gang() -> None:
    made = host(node("n", cpu=1), group(min_count=2), *members(2))
    made.schedule()
    made.delete(group(min_count=2))
    made.put(group(min_count=1))
    made.advance(30)
    assert bound(made) == {"g-0": "n"}
