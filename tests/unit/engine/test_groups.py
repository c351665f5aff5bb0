"""Pod groups in the engine: queue, cycle, binding, requeueing, conditions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import HOSTNAME, Json, away, make, member, node, pod, pod_group, term
from tests.builders.engine_host import Host
from tests.unit.plugins.dynamic_resources.devices import CLASS, allocated, claim, devices

from stowplan import api
from stowplan.api import codec
from stowplan.api.pod_group import COSCHEDULING_LABEL, POD_GROUP_SCHEDULED
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.feature_gates import (
    BUSY_RETRIES,
    COSCHEDULING_GATES,
    EAGER_EVICTION,
    GANG_SCHEDULING,
    GENERIC_WORKLOAD,
    INCOMPLETE_GANGS,
    OWN_MEMBERS,
    SHARED_CLAIMS,
    SHARED_VOLUMES,
    STALE_ANTI_AFFINITY,
    TOPOLOGY_AWARE,
    UNRESERVED_ROOM,
    WAITING_NOMINATIONS,
    WORKLOAD_CLAIMS,
    WORKLOAD_PREEMPTION,
    group_difference,
)
from stowplan.config.releases import LATEST, RELEASES
from stowplan.engine.observer import Observer
from stowplan.framework import (
    Bind,
    Call,
    CycleState,
    EmitEvent,
    Evict,
    Failure,
    PatchStatus,
    Plugin,
    Pod,
    QueuedPodInfo,
    Status,
    Write,
)
from stowplan.runtime import enable_everywhere

CPU: Json = {"requests": {"cpu": "1"}}


class SlowPermit(Plugin):
    """A Permit plugin of others, which runs on a thread."""

    name = "Slow"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None


def host(*items: Any, gates: tuple[str, ...] = (GANG_SCHEDULING,), slow: bool = False, **more: Any) -> Host:
    release = LATEST.with_gates(dict.fromkeys((GENERIC_WORKLOAD, *gates), True))
    config = default_configuration(release)
    return Host(*items, config=enable_everywhere(config, {"Slow": SlowPermit}) if slow else config, **more)


def group(name: str = "g", min_count: int | None = None, **more: Any) -> api.PodGroup:
    return codec.convert(api.PodGroup, pod_group(name, min_count, **more))


def members(count: int, name: str = "g", **how: Any) -> list[Json]:
    return [member(f"{name}-{i}", name, **{**CPU, **how}) for i in range(count)]


def bound(made: Host) -> dict[str, str]:
    return {each.metadata.name: each.spec.node_name for each in made.world.all(api.Pod) if each.spec.node_name}


def condition(made: Host, name: str = "g") -> tuple[str, str, str] | None:
    found = made.world.get(api.PodGroup, name, "default")
    assert found is not None
    it = found.condition(POD_GROUP_SCHEDULED)
    return None if it is None else (it.status, it.reason, it.message)


def message(made: Host, name: str) -> str:
    found = made.world.get(api.Pod, name, "default")
    assert found is not None
    return next((it.message for it in found.status.conditions if it.type == "PodScheduled"), "")


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


def test_as_kube_scheduler_a_group_that_does_not_fit_is_retried_without_a_pause() -> None:
    gates = (GANG_SCHEDULING, group_difference(BUSY_RETRIES))
    made = host(node("n", cpu=1), group(min_count=2), *members(2), gates=gates)
    made.settle()
    assert all(made.engine.schedule_one() for _ in range(5))


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


def host_of_two_schedulers(*items: Any) -> Host:
    release = LATEST.with_gates({GENERIC_WORKLOAD: True, GANG_SCHEDULING: True})
    profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = from_builtins({**kind, "profiles": profiles}, "config", IN_TREE_PLUGINS, release=release)
    return Host(*items, config=config)


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


def low(count: int) -> list[Json]:
    return [pod(f"low-{i}", "n", priority=1, **CPU) for i in range(count)]


@pytest.mark.parametrize("gates", [(GANG_SCHEDULING,), (GANG_SCHEDULING, WORKLOAD_PREEMPTION)])
def test_preemption_end_to_end(gates: tuple[str, ...]) -> None:
    made = host(node("n", cpu=4), *low(4), gates=gates, grace=30.0)
    made.put(group(min_count=3, priority=10), *members(3, priority=10))
    made.schedule()
    evicted = {each.pod.name for each in made.done if isinstance(each, Evict)}
    assert len(evicted) == 3
    text = "pod group is unschedulable"
    if WORKLOAD_PREEMPTION not in gates:
        text += ", pod group is waiting for preemption to complete"
    assert condition(made) == ("False", "Unschedulable", text)
    nominated = [made.world.get(api.Pod, f"g-{i}", "default") for i in range(3)]
    assert [each.status.nominated_node_name for each in nominated if each is not None] == ["n"] * 3
    made.put(pod("intruder", **CPU))
    made.advance(40)
    assert {name for name in bound(made) if name.startswith("g")} == {"g-0", "g-1", "g-2"}
    assert "intruder" not in bound(made)
    assert condition(made) == ("True", "Scheduled", "")
    note = next(each.note for each in made.done if isinstance(each, EmitEvent) and each.reason == "Preempted")
    assert note.startswith("Preempted by podgroup group g on node cluster" if len(gates) > 1 else "Preempted by pod ")


def test_nothing_is_evicted_for_a_group_that_does_not_fit() -> None:
    made = host(node("n", cpu=4), *low(4))
    made.put(group(min_count=5), *members(5, priority=10))
    made.schedule()
    assert not [each for each in made.done if isinstance(each, Evict)]
    assert condition(made) == ("False", "Unschedulable", "pod group is unschedulable")


def test_a_group_does_not_evict_its_own_members() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION)
    made = host(node("n", cpu=2), group(min_count=1, priority=10), gates=gates)
    made.put(*members(2))
    made.schedule()
    made.put(member("g-new", **CPU))
    made.schedule()
    assert not [each for each in made.done if isinstance(each, Evict)]


def test_a_failed_binding_is_repeated_with_the_gang() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    made.settle()
    made.engine.schedule_one()
    made.answer(Bind, Failure("no", "InternalError"), "g-1")
    made.settle()
    assert sorted(bound(made)) == ["g-0", "g-2"]
    made.advance(5)
    assert sorted(bound(made)) == ["g-0", "g-1", "g-2"]


def test_members_of_a_gang_do_not_hold_room_for_one_that_was_deleted() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    made.settle()
    made.delete(member("g-1"))
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods
    made.put(member("g-3", **CPU))
    made.schedule()
    assert len(bound(made)) == 3


def test_members_that_are_left_over_preempt_as_a_group_of_their_own() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION)
    made = host(node("n", cpu=1), node("full", cpu=1), pod("low", "full", priority=1, **CPU), gates=gates)
    made.put(group(priority=10), *members(3, priority=10))
    made.schedule()
    assert bound(made) == {"g-0": "n", "g-1": "full"}


def test_permit_plugins_of_others_may_take_their_time() -> None:
    """The member that completes the gang passes before the others begin to wait."""
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.schedule()
    assert len(bound(made)) == 2


def test_a_gang_that_is_incomplete_after_slow_permits_gives_its_room_back() -> None:
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.settle()
    made.engine.schedule_one()
    calls = [each for each in made.take() if isinstance(each, Call)]
    made.delete(member("g-1"))
    for each in calls:
        made.do(each)
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods


def test_members_give_their_room_back_if_the_group_is_deleted() -> None:
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.settle()
    made.engine.schedule_one()
    calls = [each for each in made.take() if isinstance(each, Call)]
    made.delete(group(min_count=2))
    for each in calls:
        made.do(each)
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods


@pytest.mark.parametrize("as_upstream", [False, True])
def test_two_members_do_not_share_a_claim_for_one_pod(as_upstream: bool) -> None:
    """A PersistentVolumeClaim with ReadWriteOncePod; kube-scheduler v1.36 lets both have it."""
    volume = {"accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "1Gi"}}
    marks = {"pv.kubernetes.io/bind-completed": "yes"}
    spec = {"accessModes": ["ReadWriteOncePod"], "volumeName": "pv"}
    bound_claim = make("PersistentVolumeClaim", "data", "default", spec=spec, annotations=marks)
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    gates = (GANG_SCHEDULING, group_difference(SHARED_VOLUMES)) if as_upstream else (GANG_SCHEDULING,)
    made = host(make("PersistentVolume", "pv", spec=volume), bound_claim, node("n"), node("m"), gates=gates)
    made.put(group(min_count=2), *members(2, **uses))
    made.schedule()
    if as_upstream:
        assert len(bound(made)) == 2
        return
    assert bound(made) == {}
    assert "ReadWriteOncePod" in message(made, "g-1")


def test_as_kube_scheduler_members_that_share_devices_fail_once() -> None:
    gates = (GANG_SCHEDULING, group_difference(SHARED_CLAIMS), group_difference(INCOMPLETE_GANGS))
    made = host(CLASS, devices("n", 1), claim("shared"), node("n", cpu=8), gates=gates)
    uses = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
    made.put(group(min_count=2), *members(2, **uses))
    made.schedule()
    failed = [each.note for each in made.done if isinstance(each, EmitEvent) and each.reason == "FailedScheduling"]
    text = 'running PreBind plugin "DynamicResources": claim default/shared got allocated elsewhere in the meantime'
    assert failed == [text]
    made.advance(5)
    assert bound(made) == {"g-0": "n", "g-1": "n"}


def test_members_share_devices() -> None:
    """Members with one ResourceClaim go to the node of its device, and are bound in their first attempt."""
    made = host(CLASS, devices("n", 1), devices("m", 1), claim("shared"), node("n", cpu=8), node("m", cpu=8))
    uses = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
    made.put(group(min_count=4), *members(4, **uses))
    made.schedule()
    made.advance(2)
    assert len(set(bound(made).values())) == 1
    assert len(bound(made)) == 4
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    assert len(found.status.reserved_for) == 4
    assert not [each for each in made.done if isinstance(each, EmitEvent) and each.reason == "FailedScheduling"]


def test_members_get_the_devices_that_the_cycle_found_for_them() -> None:
    """Each member has a claim of its own, and together they need all devices."""
    made = host(CLASS, devices("a", 1), devices("b", 3), devices("c", 4), *(claim(f"g-{i}") for i in range(8)))
    made.put(*(node(name, cpu=8) for name in "abc"), group(min_count=8))
    for each in members(8):
        each["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": each["metadata"]["name"]}]
        made.put(each)
    made.schedule()
    assert len(bound(made)) == 8


def test_other_pods_do_not_share_a_claim_that_is_being_allocated() -> None:
    made = host(CLASS, devices("n", 1), claim("shared"), node("n", cpu=8))
    uses = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
    made.put(group("g", 1), group("h", 1), member("g-0", "g", **uses), member("h-0", "h", **uses))
    made.settle()
    made.engine.schedule_one()
    made.engine.schedule_one()
    made.settle(Write)
    assert "resource claim default/shared is in the process of being allocated" in message(made, "h-0")
    made.settle()
    made.advance(5)
    assert len(bound(made)) == 2


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


class PermitWaits(Observer):
    """Counts the members that waited at Permit."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def permit_wait_ended(self, queued: QueuedPodInfo, status: Status | None, seconds: float) -> None:
        self.ended.append(queued.pod.name)


@pytest.mark.parametrize("slow", [False, True], ids=["in tree", "with a Permit plugin"])
def test_all_members_but_the_last_count_as_waiting_at_permit(slow: bool) -> None:
    observer = PermitWaits()
    plugins = {"Slow": SlowPermit} if slow else {}
    made = host(node("n", cpu=9), group(min_count=3), *members(4), slow=slow, observer=observer, plugins=plugins)
    made.schedule()
    assert len(bound(made)) == 4
    assert sorted(observer.ended) == ["g-0", "g-1"]


def test_a_member_whose_binding_fails_is_tried_again() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    while made.engine.schedule_one():
        pass
    binds = [each for each in made.engine.take() if isinstance(each, Bind)]
    assert [each.pod.name for each in binds] == ["g-0", "g-1", "g-2"]
    assert not len(made.engine.waiting_pods)
    made.engine.answer(binds[0], Failure("gone"))
    for each in binds[1:]:
        made.engine.answer(each, made.world.execute(each))
    made.pass_time(made.clock.now + 10)
    made.schedule()
    assert set(bound(made)) == {"g-0", "g-1", "g-2"}


# Behaviour of kube-scheduler, switched on one by one
def test_as_kube_scheduler_members_preempt_for_a_gang_that_does_not_fit() -> None:
    made = host(node("n", cpu=4), *low(4), gates=(GANG_SCHEDULING, group_difference(EAGER_EVICTION)))
    made.put(group(min_count=5), *members(5, priority=10))
    made.schedule()
    assert [each for each in made.done if isinstance(each, Evict)]


def test_as_kube_scheduler_a_group_evicts_its_own_members() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION, group_difference(OWN_MEMBERS))
    made = host(node("n", cpu=2), group(min_count=1, priority=10), gates=gates)
    made.put(*members(2))
    made.schedule()
    made.put(member("g-new", **CPU))
    made.settle()
    made.engine.schedule_one()
    assert [each.pod.name for each in made.take() if isinstance(each, Evict)]


def test_as_kube_scheduler_room_for_a_group_is_reserved_for_no_pod() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_PREEMPTION, group_difference(UNRESERVED_ROOM))
    made = host(node("n", cpu=4), *low(4), gates=gates, grace=30.0)
    made.put(group(min_count=3, priority=10), *members(3, priority=10))
    made.schedule()
    assert len({each.pod.name for each in made.done if isinstance(each, Evict)}) == 3
    found = [made.world.get(api.Pod, f"g-{i}", "default") for i in range(3)]
    assert [each.status.nominated_node_name for each in found if each is not None] == [""] * 3


def test_as_kube_scheduler_earlier_members_have_no_anti_affinity() -> None:
    gates = (GANG_SCHEDULING, group_difference(STALE_ANTI_AFFINITY))
    made = host(node("n", cpu=4), group(min_count=2), gates=gates)
    made.put(member("g-0", labels={"app": "a"}, affinity=away(term(HOSTNAME)), **CPU))
    made.put(member("g-1", labels={"app": "a"}, **CPU))
    made.schedule()
    assert len(bound(made)) == 2


def test_as_kube_scheduler_members_wait_for_one_that_was_deleted() -> None:
    gates = (GANG_SCHEDULING, group_difference(INCOMPLETE_GANGS))
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True, gates=gates)
    made.settle()
    made.engine.schedule_one()
    calls = [each for each in made.take() if isinstance(each, Call)]
    made.do(calls[0])
    made.delete(group(min_count=2))
    assert made.engine.cluster.pods
    made.schedule()
    assert not any(each.message == "pod group is incomplete" for each in _conditions(made))


def _conditions(made: Host) -> list[api.Condition]:
    return [it for each in made.world.all(api.Pod) for it in each.status.conditions]


def test_as_kube_scheduler_members_that_wait_are_nominated() -> None:
    gates = (GANG_SCHEDULING, group_difference(WAITING_NOMINATIONS))
    made = host(node("n", cpu=4), group(min_count=3), *members(3), gates=gates)
    made.settle()
    made.engine.schedule_one()
    patches = [each for each in made.take() if isinstance(each, PatchStatus)]
    assert [each.nominated_node_name for each in patches] == ["n", "n"]


# Claims of the group
def test_a_claim_of_the_group_is_reserved_for_the_group() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    made = host(
        CLASS, devices("n", 1), devices("m", 1), claim("shared"), node("n", cpu=8), node("m", cpu=8), gates=gates
    )
    uses = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=3, resourceClaims=uses), *members(3, resourceClaims=uses))
    made.schedule()
    made.advance(2)
    assert len(bound(made)) == 3
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    (consumer,) = found.status.reserved_for
    assert (consumer.api_group, consumer.resource, consumer.name) == ("scheduling.k8s.io", "podgroups", "g")
    assert consumer.uid == "group g"


def test_a_claim_with_another_name_is_reserved_for_the_pods() -> None:
    made = host(CLASS, devices("n", 1), claim("shared"), node("n", cpu=8), gates=(GANG_SCHEDULING, WORKLOAD_CLAIMS))
    own = [{"name": "other", "resourceClaimName": "shared"}]
    of_group = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=2, resourceClaims=of_group), *members(2, resourceClaims=own))
    made.schedule()
    made.advance(2)
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    assert [each.resource for each in found.status.reserved_for] == ["pods", "pods"]


def test_a_claim_of_the_group_is_given_up_where_no_member_can_use_it() -> None:
    """It is allocated on a node without room, and reserved for the group, of which no member runs."""
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "group g"}
    status = {**allocated("gpu-0", node="n"), "reservedFor": [consumer]}
    made = host(CLASS, devices("n", 1), devices("m", 1), node("n", cpu=1), node("m", cpu=8), gates=gates)
    made.put(claim("shared", status=status), pod("busy", "n", **CPU))
    uses = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=2, resourceClaims=uses), *members(2, resourceClaims=uses))
    made.schedule()
    made.advance(60)
    notes = [each.note for each in made.done if isinstance(each, EmitEvent)]
    assert any("ResourceClaim unreserved for PodGroup" in each for each in notes)
    assert {name: node for name, node in bound(made).items() if name != "busy"} == {"g-0": "m", "g-1": "m"}


def test_claims_from_templates_belong_to_the_pod_or_to_the_group() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    uses = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    version = "scheduling.k8s.io/v1alpha2"
    made_for = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}}
    for name, text in (("g", ""), ("h", "(neither Pod nor PodGroup g is the owner)")):
        owner = api.OwnerReference(api_version=version, kind="PodGroup", name=name, uid="x", controller=True)
        owned = claim("made")
        owned = replace(owned, metadata=replace(owned.metadata, owner_references=(owner,)))
        made = host(CLASS, devices("n", 1), owned, node("n", cpu=8), gates=gates)
        made.put(group(min_count=1, resourceClaims=uses))
        made.put({**member("g-0", resourceClaims=uses, **CPU), **made_for})
        made.schedule()
        made.advance(2)
        assert bool(bound(made)) == (not text)
        if text:
            gated = next(made.engine.queued_pods("gated"))
            status = made.engine.profiles["default-scheduler"].pre_enqueue(gated.pod)
            assert status is not None
            assert text in status.message
