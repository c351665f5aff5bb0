"""kube-scheduler's behaviour with pod groups, switched on one difference at a time."""

from __future__ import annotations

from tests.builders import HOSTNAME, away, member, node, term
from tests.builders.engine_host import Host
from tests.unit.engine.grouped import CPU, SlowPermit, bound, group, host, low, members
from tests.unit.plugins.dynamic_resources.devices import CLASS, claim, devices

from stowplan import api
from stowplan.config.feature_gates import (
    BUSY_RETRIES,
    EAGER_EVICTION,
    GANG_SCHEDULING,
    INCOMPLETE_GANGS,
    OWN_MEMBERS,
    SHARED_CLAIMS,
    STALE_ANTI_AFFINITY,
    UNRESERVED_ROOM,
    WAITING_NOMINATIONS,
    WORKLOAD_PREEMPTION,
    group_difference,
)
from stowplan.framework import Call, EmitEvent, Evict, PatchStatus


def test_as_kube_scheduler_a_group_that_does_not_fit_is_retried_without_a_pause() -> None:
    gates = (GANG_SCHEDULING, group_difference(BUSY_RETRIES))
    made = host(node("n", cpu=1), group(min_count=2), *members(2), gates=gates)
    made.settle()
    assert all(made.engine.schedule_one() for _ in range(5))


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
