"""NodeResourcesFit: filter tables, ignored and delegated resources, hints. Scores: see the recorded vectors."""

from typing import Any

import pytest
from tests.builders import Json, World, node, pod, profile_config

from stowplan import api
from stowplan.api import codec
from stowplan.config.releases import LATEST, RELEASES, Release
from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status

NAME = "NodeResourcesFit"
U, UU = Code.Unschedulable, Code.UnschedulableAndUnresolvable
QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
GPU, FOO = "example.com/gpu", "foo.io/bar"


def judge(world: World, item: Json) -> Status | None:
    """The verdict on the one node there is."""
    plugin = world.plugin(NAME)
    (info,) = world.cluster.nodes
    return plugin.filter(CycleState(), world.pod(item), info)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("requests", "code", "reasons"),
    [
        ({"cpu": 1, "memory": 400}, None, ()),
        ({"cpu": "1001m"}, U, ("Insufficient cpu",)),
        ({"cpu": "2001m"}, UU, ("Insufficient cpu",)),
        ({"cpu": "1001m", "memory": 401}, U, ("Insufficient cpu", "Insufficient memory")),
        ({"cpu": "1001m", "memory": 1001}, UU, ("Insufficient cpu", "Insufficient memory")),
        ({"memory": 400, GPU: 2}, U, ("Insufficient example.com/gpu",)),
        ({FOO: 1}, UU, ("Insufficient foo.io/bar",)),
        ({"ephemeral-storage": 1}, UU, ("Insufficient ephemeral-storage",)),
        ({"cpu": 0, FOO: 0}, None, ()),
        ({}, None, ()),
    ],
)
def test_room(requests: Json, code: Code | None, reasons: tuple[str, ...]) -> None:
    """On a node with 2 CPUs, 1000 bytes and 2 devices, where a pod has 1 CPU, 600 bytes and a device."""
    world = World([node("n", 2, 1000, extra={GPU: "2"})], [pod("r", "n", requests={"cpu": 1, "memory": 600, GPU: 1})])
    status = judge(world, pod("p", requests=requests))
    assert status == (None if code is None else Status(code, *reasons, plugin=NAME))


def test_too_many_pods_leaves_hope() -> None:
    world = World([node("n", 2, 1000, pods=1)], [pod("r", "n")])
    assert judge(world, pod("p")) == Status(U, "Too many pods", plugin=NAME)
    assert judge(world, pod("p", requests={"cpu": 9})) == Status(UU, "Too many pods", "Insufficient cpu", plugin=NAME)


def test_a_node_may_be_overcommitted() -> None:
    world = World([node("n", 2)], [pod("r", "n", requests={"cpu": 3})])
    assert judge(world, pod("p", requests={"cpu": 0, "memory": 1})) is None
    assert judge(world, pod("p", requests={"cpu": "1m"})) == Status(U, "Insufficient cpu", plugin=NAME)


@pytest.mark.parametrize(
    ("args", "rejected"),
    [
        ({}, {GPU, FOO}),
        ({"ignoredResources": [GPU]}, {FOO}),
        ({"ignoredResourceGroups": ["foo.io"]}, {GPU}),
        ({"ignoredResourceGroups": ["foo.io", "example.com"]}, set()),
        ({"ignoredResources": ["cpu"], "ignoredResourceGroups": ["hugepages-2Mi"]}, {GPU, FOO}),
    ],
)
def test_ignored_resources(args: Json, rejected: set[str]) -> None:
    world = World([node("n")], config=profile_config(args={NAME: args}))
    assert {name for name in (GPU, FOO) if judge(world, pod("p", requests={name: 1})) is not None} == rejected
    assert judge(world, pod("p", requests={"cpu": 9})) is not None
    assert judge(world, pod("p", requests={"hugepages-2Mi": 9})) is not None


def test_devices_may_serve_what_a_node_does_not_offer() -> None:
    world = World([node("n")])
    item = pod("p", requests={GPU: 1})
    assert judge(world, item) == Status(UU, f"Insufficient {GPU}", plugin=NAME)
    world.put("DeviceClass", name="gpus", spec={"extendedResourceName": GPU})
    assert judge(world, item) is None
    assert judge(world, pod("p", requests={GPU: 1, "cpu": 9})) == Status(UU, "Insufficient cpu", plugin=NAME)
    world.put_node(node("n", extra={GPU: "1"}))
    assert judge(world, pod("p", requests={GPU: 2})) == Status(UU, f"Insufficient {GPU}", plugin=NAME)


def test_scalar_resources_that_a_pod_does_not_ask_for_do_not_score() -> None:
    resources = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 9}]
    args = {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}
    world = World([node("n", 2, extra={GPU: "4"})], config=profile_config(args={NAME: args}))
    scorer = world.plugin(NAME)
    (info,) = world.cluster.nodes
    assert scorer.score(CycleState(), world.pod(pod("p", requests={"cpu": 1})), info) == 50
    assert scorer.score(CycleState(), world.pod(pod("p", requests={"cpu": 1, GPU: 1})), info) == (50 + 9 * 75) // 10


def registered(world: World, resource: str) -> Any:
    (entry,) = [e for e in world.plugin(NAME).events_to_register() if e.event.resource == resource]
    return entry


def test_registrations() -> None:
    world = World()
    assert registered(world, EventResource.Pod).event.action == Action.Delete | Action.UpdatePodScaleDown
    assert registered(world, EventResource.Node).event.action == Action.Add | Action.UpdateNodeAllocatable
    assert registered(world, EventResource.DeviceClass).event.action == Action.Add | Action.Update


BY_CLASS = {"DRAExtendedResource": True}


@pytest.mark.parametrize(
    ("release", "registers"),
    [
        (RELEASES["1.33"], False),
        (RELEASES["1.34"].with_gates(BY_CLASS), False),
        (RELEASES["1.35"], False),
        (RELEASES["1.35"].with_gates(BY_CLASS), True),
        (LATEST.with_gates({"DRAExtendedResource": False}), False),
    ],
)
def test_device_classes_wake_from_v1_35_on_while_they_provide_extended_resources(
    release: Release, registers: bool
) -> None:
    world = World(release=release)
    world.put("DeviceClass", name="gpus", spec={"extendedResourceName": GPU})
    found = [entry.event.resource for entry in world.plugin(NAME).events_to_register()]
    assert (EventResource.DeviceClass in found) is registers
    after = registered(world, EventResource.Node).hint
    assert after(world.pod(WAITING), None, codec.convert(api.Node, node("n", 2))) is (QUEUE if registers else SKIP)


WAITING = pod("p", requests={"cpu": 2, GPU: 1})


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (pod("r", "n", requests={"cpu": 1}), None, QUEUE),
        (pod("r", nominated="n"), None, QUEUE),
        (pod("r"), None, SKIP),
        (pod("r", "n", requests={"cpu": 2}), pod("r", "n", requests={"cpu": 1}), QUEUE),
        (pod("r", "n", requests={"cpu": 1}), pod("r", "n", requests={"cpu": 2}), SKIP),
        (pod("r", "n", requests={"memory": 2}), pod("r", "n", requests={"memory": 1}), SKIP),
        (pod("r", requests={"cpu": 2}), pod("r", requests={"cpu": 1}), SKIP),
        (pod("p", requests={"cpu": 3}), WAITING, QUEUE),
    ],
)
def test_pods_that_make_room(old: Json, new: Json | None, hint: QueueingHint) -> None:
    world = World()
    after = registered(world, EventResource.Pod).hint
    assert after(world.pod(WAITING), world.pod(old), new and world.pod(new)) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, node("n", 2, extra={GPU: "1"}), QUEUE),
        (None, node("n", 2), SKIP),
        (None, node("n", 1, extra={GPU: "1"}), SKIP),
        (None, node("n", 2, pods=0, extra={GPU: "1"}), SKIP),
        (node("n", 1, extra={GPU: "1"}), node("n", 2, extra={GPU: "1"}), QUEUE),
        (node("n", 2, extra={GPU: "1"}), node("n", 2, memory=1, extra={GPU: "1"}), SKIP),
        (node("n", 2, pods=1, extra={GPU: "1"}), node("n", 2, pods=2, extra={GPU: "1"}), QUEUE),
        (node("n", 4, extra={GPU: "1"}), node("n", 2, extra={GPU: "1"}), SKIP),
    ],
)
def test_nodes_that_offer_more(old: Json | None, new: Json, hint: QueueingHint) -> None:
    world = World()
    after = registered(world, EventResource.Node).hint
    before, now = (item and codec.convert(api.Node, item) for item in (old, new))
    assert after(world.pod(WAITING), before, now) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, node("n", 2), QUEUE),
        (None, node("n", 1), SKIP),
        (None, node("n", 2, extra={GPU: "1"}), QUEUE),
        (node("n", 2), node("n", 2, memory=1), QUEUE),
        (node("n", 2, extra={GPU: "1"}), node("n", 2, memory=1, extra={GPU: "1"}), SKIP),
    ],
)
def test_nodes_whose_devices_provide_a_resource(old: Json | None, new: Json, hint: QueueingHint) -> None:
    """A node that does not have the resource itself may have the devices of the class; DynamicResources checks that."""
    world = World()
    world.put("DeviceClass", name="gpus", spec={"extendedResourceName": GPU})
    after = registered(world, EventResource.Node).hint
    before, now = (item and codec.convert(api.Node, item) for item in (old, new))
    assert after(world.pod(WAITING), before, now) is hint


def device_class(resource: str, name: str = "c") -> api.DeviceClass:
    raw = {"metadata": {"name": name}, "spec": {"extendedResourceName": resource}}
    return codec.convert(api.DeviceClass, raw)


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, device_class(GPU), QUEUE),
        (None, device_class(FOO), SKIP),
        (device_class(FOO), device_class(GPU), QUEUE),
        (device_class(GPU), device_class(GPU), SKIP),
        (device_class(GPU), device_class(FOO), SKIP),
        (device_class(GPU), None, SKIP),
    ],
)
def test_device_classes_that_begin_to_serve(
    old: api.DeviceClass | None, new: api.DeviceClass | None, hint: QueueingHint
) -> None:
    world = World()
    assert registered(world, EventResource.DeviceClass).hint(world.pod(WAITING), old, new) is hint


def test_a_device_class_serves_the_resource_of_its_own_name() -> None:
    world = World()
    waiting = world.pod(pod("p", requests={"deviceclass.resource.kubernetes.io/c": 1}))
    assert registered(world, EventResource.DeviceClass).hint(waiting, None, device_class("")) is QUEUE
    assert registered(world, EventResource.DeviceClass).hint(waiting, None, device_class("", "other")) is SKIP
