"""Coscheduling: verdicts worked out by hand, and groups on an engine."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import Json, World, node, pod
from tests.builders.engine_host import Host
from tests.builders.objects import make
from tests.unit.optional_plugins.test_registry import configuration

from stowplan import api
from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.framework import Code, CycleState, QueuedPodInfo
from stowplan.optional_plugins.coscheduling.groups import POD_GROUP_LABEL

NAME = "Coscheduling"
ENABLED = {
    "multiPoint": {"enabled": [{"name": NAME}]},
    "queueSort": {"enabled": [{"name": NAME}], "disabled": [{"name": "*"}]},
}


def config(**args: Any) -> Json:
    return configuration(ENABLED, *([{"name": NAME, "args": args}] if args else []))


def group(members: int, name: str = "g", **spec: Any) -> Any:
    return make("CoschedulingPodGroup", name=name, namespace="default", spec={"minMember": members, **spec})


def member(name: str, on: str = "", cpu: int = 1, of: str = "g", **more: Any) -> Json:
    return pod(name, on, labels={POD_GROUP_LABEL: of}, requests={"cpu": cpu}, **more)


def bound(host: Host) -> dict[str, str]:
    pods = list(host.world.all(api.Pod))
    return {item.metadata.name: item.spec.node_name for item in pods if item.spec.node_name}


def scheduled(host: Host, *items: Any) -> dict[str, str]:
    """The bound pods, after all attempts."""
    host.put(*items)
    host.schedule()
    return bound(host)


def pending_message(host: Host, name: str) -> str:
    """The message of a pending pod's condition."""
    return host.condition(name)[2]


def test_a_whole_group_is_bound() -> None:
    host = Host(node("a", cpu=2), node("b", cpu=2), config=config())
    assert len(scheduled(host, group(3), *(member(f"m{i}") for i in range(3)))) == 3


def test_a_group_that_does_not_fit_is_not_bound_and_holds_no_room() -> None:
    host = Host(node("a", cpu=2), config=config())
    assert scheduled(host, group(3), *(member(f"m{i}") for i in range(3))) == {}
    assert not host.assumed
    assert len(scheduled(host, pod("plain", requests={"cpu": 2}))) == 1


def test_a_rejected_group_is_bound_once_it_fits() -> None:
    host = Host(node("a", cpu=5), config=config())
    members = [member(f"{name}{i}", of=name) for name in ("g", "h") for i in range(4)]
    placed = scheduled(host, group(4), group(4, "h"), *members)
    assert len(placed) == 4
    assert len({name[0] for name in placed}) == 1
    assert "gated" not in "".join(pending_message(host, f"{name}{i}") for name in ("g", "h") for i in range(4))
    host.put(node("b", cpu=3))
    host.advance(15)
    assert len(bound(host)) == 8


def test_a_group_that_does_not_fit_is_tried_seldom() -> None:
    host = Host(node("a", cpu=2), config=config())
    scheduled(host, group(3), *(member(f"m{i}") for i in range(3)))
    host.advance(100)
    attempts = sum(host.unit(f"m{i}").attempts for i in range(3))
    assert attempts < 60
    assert bound(host) == {}
    assert not host.assumed


def test_members_wait_for_the_others() -> None:
    host = Host(node("a", cpu=4), config=config())
    assert scheduled(host, group(2), member("m0")) == {}
    assert "cannot find enough sibling pods, current pods number: 1, minMember of group: 2" in pending_message(
        host, "m0"
    )
    assert len(scheduled(host, member("m1"))) == 2


def test_gated_members_hold_a_group_up() -> None:
    host = Host(node("a", cpu=4), config=config())
    gated = member("m1", schedulingGates=[{"name": "g"}])
    assert scheduled(host, group(2), gated, member("m0")) == {}
    assert "cannot proceed due to gated pods in the same PodGroup" in pending_message(host, "m0")


def test_a_pod_whose_group_does_not_exist_is_rejected_at_permit() -> None:
    host = Host(node("a", cpu=4), config=config())
    assert scheduled(host, member("m0")) == {}
    assert "PodGroup not found" in pending_message(host, "m0")
    assert scheduled(host, group(1)) == {"m0": "a"}


def test_pods_without_a_group_are_not_concerned() -> None:
    host = Host(node("a", cpu=4), config=config())
    assert scheduled(host, pod("plain")) == {"plain": "a"}


def test_waiting_members_are_rejected_when_the_time_is_over() -> None:
    host = Host(node("a", cpu=1), config=config(podGroupRejectPercentage=100, permitWaitingTimeSeconds=5))
    assert scheduled(host, group(2), member("m0"), member("m1")) == {}
    assert len(host.assumed) == 1  # The other one is missing, and few enough are.
    host.pass_time(host.clock.now + 6)
    host.settle()
    assert not host.assumed


def made(*pods: Json, members: int = 2, nodes: int = 2, **spec: Any) -> World:
    world = World([node(f"n{i}", cpu=2) for i in range(nodes)], pods, config=config())
    world.cluster.put(group(members, **spec))
    return world


def pre_filter(world: World, item: Json) -> str:
    status = world.plugin(NAME).pre_filter(CycleState(), world.pod(item), world.cluster.nodes.everything())
    assert status is None or status.code == Code.UnschedulableAndUnresolvable
    return "" if status is None else status.message


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"cpu": "4"}, ""),  # Two nodes of 2 cores; the member on one of them counts as free.
        ({"cpu": "5"}, "resource gap: map[cpu:1000m]"),
        ({"cpu": "3", "example.com/gpu": "2"}, "resource gap: map[example.com/gpu:2]"),
    ],
)
def test_min_resources(resources: Json, expected: str) -> None:
    world = made(member("m0", "n0"), minResources=resources)
    assert pre_filter(world, member("m1")) == expected


def test_other_pods_take_room_from_min_resources() -> None:
    world = made(member("m0", "n0"), pod("other", "n1", requests={"cpu": 1}), minResources={"cpu": "4"})
    assert pre_filter(world, member("m1")) == "resource gap: map[cpu:1000m]"


@pytest.mark.parametrize(
    ("placed", "members", "expected"),
    [
        (0, 2, "PodGroup default/g gets rejected due to Pod p is unschedulable even after PostFilter"),
        (9, 10, ""),  # One of ten is missing: 10 %.
        (8, 10, "PodGroup default/g gets rejected due to Pod p is unschedulable even after PostFilter"),
        (2, 2, ""),
    ],
)
def test_post_filter(placed: int, members: int, expected: str) -> None:
    world = made(*(member(f"m{i}", "n0", cpu=0) for i in range(placed)), members=members)
    status = world.plugin(NAME).post_filter(CycleState(), world.pod(member("p")), {})
    assert (status.code, status.message) == (Code.Unschedulable, expected)


def test_post_filter_without_a_group() -> None:
    world = made()
    plugin = world.plugin(NAME)
    for item in (pod("p"), member("p", of="other")):
        assert plugin.post_filter(CycleState(), world.pod(item), {}).message == "can not find pod group"


def test_members_that_succeeded_count() -> None:
    world = made(member("m0", "n0"), members=3)
    assert "current pods number: 2" in pre_filter(world, member("m1"))
    item = make("CoschedulingPodGroup", name="g", namespace="default", spec={"minMember": 3}, status={"succeeded": 1})
    world.cluster.put(item)
    assert pre_filter(world, member("m1")) == ""


def test_order_of_the_queue() -> None:
    world = made()
    created = make(
        "CoschedulingPodGroup",
        name="early",
        namespace="default",
        metadata={"creationTimestamp": "1970-01-01T00:00:05Z"},
        spec={"minMember": 1},
    )
    world.cluster.put(created)
    plugin = world.plugin(NAME)

    def queued(item: Json, initial: float) -> QueuedPodInfo:
        return QueuedPodInfo(world.pod(item), 100.0, initial_attempt_timestamp=initial)

    infos = [
        queued(pod("urgent", priority=9), 50.0),
        queued(pod("first"), 4.0),
        queued(member("b", of="early"), 99.0),  # As old as its group.
        queued(member("c", of="early"), 1.0),
        queued(pod("last"), 6.0),
    ]
    for position, info in enumerate(infos):
        assert [plugin.less(info, other) for other in infos] == [position < i for i in range(len(infos))]


def test_failed_groups_wait() -> None:
    host = Host(node("a", cpu=1), config=config(podGroupBackoffSeconds=30, podGroupRejectPercentage=0))
    assert scheduled(host, group(2), member("m0"), member("m1")) == {}
    host.put(node("b", cpu=2))
    host.advance(15)
    assert bound(host) == {}
    assert any("podGroup default/g failed recently" in pending_message(host, name) for name in ("m0", "m1"))


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"permitWaitingTimeSeconds": -1}, "Invalid value: -1: must be greater than 0"),
        ({"podGroupBackoffSeconds": -1}, "Invalid value: -1: must be greater than 0"),
        ({"podGroupRejectPercentage": 101}, "Invalid value: 101: must be between 0 and 100"),
    ],
)
def test_args_are_validated(args: Json, error: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(config(**args))
    (found,) = caught.value.errors
    assert found.message == error
