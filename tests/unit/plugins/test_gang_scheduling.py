"""GangScheduling: members wait for their group and for each other."""

from __future__ import annotations

import pytest
from tests.builders import World, member, node, pod, pod_group

from stowplan import api
from stowplan.api import codec
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD
from stowplan.config.releases import LATEST
from stowplan.framework import Code, CycleState, EventResource, QueueingHint

GANG = LATEST.with_gates({GENERIC_WORKLOAD: True, GANG_SCHEDULING: True})


def world_of(*groups: api.PodGroup) -> World:
    world = World([node("n")], release=GANG)
    for group in groups:
        world.cluster.put(group)
    return world


def group(minimum: int | None = 2, name: str = "g") -> api.PodGroup:
    return codec.convert(api.PodGroup, pod_group(name, minimum))


def test_pods_without_a_group_are_no_concern() -> None:
    world = world_of()
    assert not world.plugin("GangScheduling").concerns(world.pod(pod("p")).template)
    assert world.plugin("GangScheduling").concerns(world.pod(member("m")).template)


@pytest.mark.parametrize("minimum", [1, None])
def test_members_wait_for_the_group(minimum: int | None) -> None:
    world = world_of()
    made = world.add_member(member("m"))
    status = world.profile.pre_enqueue(made)
    assert status is not None
    assert (status.code, status.plugin) == (Code.UnschedulableAndUnresolvable, "GangScheduling")
    assert status.message == 'waiting for pods\'s pod group "g" to appear in scheduling queue'
    world.cluster.put(group(minimum))
    assert world.profile.pre_enqueue(made) is None


def test_members_wait_for_each_other() -> None:
    world = world_of(group(2))
    first = world.add_member(member("a"))
    status = world.profile.pre_enqueue(first)
    assert status is not None
    assert status.message == "waiting for minCount pods from a gang to appear in scheduling queue"
    world.add_member(member("b", on="n"))
    assert world.profile.pre_enqueue(first) is None


def test_permit_waits_for_the_quorum() -> None:
    world = world_of(group(2))
    plugin = world.plugin("GangScheduling")
    first, second = (world.add_member(member(name)) for name in "ab")
    world.cluster.pod_groups.assume(first)
    status = plugin.permit(CycleState(), first, "n")
    assert (status.code, status.timeout) == (Code.Wait, 300.0)
    world.cluster.pod_groups.assume(second)
    assert plugin.permit(CycleState(), second, "n") is None


def test_permit_without_a_group_is_an_error() -> None:
    world = world_of()
    status = world.plugin("GangScheduling").permit(CycleState(), world.add_member(member("m")), "n")
    assert status.code == Code.Error
    assert status.message == 'failed to get podGroup default/g: podgroup.scheduling.k8s.io "g" not found'


def test_hints() -> None:
    world = world_of()
    hints = {each.event.resource: each.hint for each in world.plugin("GangScheduling").events_to_register()}
    waiting = world.pod(member("m"))
    after_pod, after_group = hints[EventResource.Pod], hints[EventResource.PodGroup]
    assert after_pod is not None
    assert after_group is not None
    assert after_pod(waiting, None, world.pod(member("other"))) is QueueingHint.Queue
    assert after_pod(waiting, None, world.pod(member("other", "another"))) is QueueingHint.QueueSkip
    assert after_pod(waiting, None, world.pod(member("other", namespace="x"))) is QueueingHint.QueueSkip
    assert after_pod(waiting, None, world.pod(pod("plain"))) is QueueingHint.QueueSkip
    assert after_group(waiting, None, group()) is QueueingHint.Queue
    assert after_group(waiting, None, group(name="another")) is QueueingHint.QueueSkip
