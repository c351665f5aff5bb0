from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.builders import World, away, container, node, pod, spread, term

from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, error, reject
from stowplan.runtime.preemption.demands import VectorDryRuns, demands_of

ONE = {"requests": {"cpu": "1"}}


class OnPods(Plugin):
    name = "OnPods"
    scope = "node+pods"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


class Extended(Plugin):
    name = "Extended"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Any) -> None: ...

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> None: ...


class Picky(Plugin):
    """Refuses a node and fails on another; counts how often it is asked."""

    name = "Picky"
    scope = "node"
    asked = 0

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        type(self).asked += 1
        return {"n1": reject("no"), "n2": error("lost")}.get(node.name)


def demands(world: World, item: dict[str, Any]) -> Any:
    diagnosis = world.diagnosis(item)
    return demands_of(world.profile, diagnosis.state, diagnosis.pod)


def test_plain_pods_want_amounts() -> None:
    wanted = demands(World([node("n", cpu=0)]), pod("w", requests={"cpu": "1", "memory": "2"}))
    assert [(demand.resource, demand.amount, demand.reason) for demand in wanted] == [
        ("pods", 1, "Too many pods"),
        ("cpu", 1000, "Insufficient cpu"),
        ("memory", 2, "Insufficient memory"),
    ]


@pytest.mark.parametrize(
    "shape",
    [
        {"containers": [container(ports=[{"hostPort": 80, "containerPort": 80}])]},
        {"affinity": away(term())},
        {"topologySpreadConstraints": [spread()]},
        {"nodeName": "n"},
    ],
)
def test_pods_to_which_more_matters(shape: dict[str, Any]) -> None:
    assert demands(World([node("n", cpu=0, zone="a")]), pod("w", **shape)) is None


@pytest.mark.parametrize(("plugin", "plain"), [(OnPods, False), (Extended, False), (Picky, True)])
def test_users_plugins(plugin: type[Plugin], plain: bool) -> None:
    world = World([node("n", cpu=0)], plugins={plugin.name: plugin})
    assert (demands(world, pod("w", **ONE)) is not None) is plain


def test_devices_may_serve_an_extended_resource() -> None:
    world = World([node("n")])
    item = pod("w", requests={"example.com/gpu": 1})
    assert demands(world, item) is not None
    world.put("DeviceClass", name="gpus", spec={"extendedResourceName": "example.com/gpu"})
    assert demands(world, item) is None


def dry_runs(world: World, **shape: Any) -> VectorDryRuns:
    diagnosis = world.diagnosis(pod("w", **{**ONE, "priority": 10, **shape}))
    wanted = demands_of(world.profile, diagnosis.state, diagnosis.pod)
    assert wanted is not None
    return VectorDryRuns(world.profile, diagnosis.state, diagnosis.pod, wanted)


def full(*nodes: dict[str, Any], **more: Any) -> World:
    """Nodes of one core each, with a pod that takes it."""
    names = [item["metadata"]["name"] for item in nodes]
    return World(nodes, [pod(f"on-{name}", name, **ONE) for name in names], **more)


def cleared(world: World, slots: list[int]) -> list[int]:
    return dry_runs(world).clear(np.array(slots)).slots.tolist()


def test_nodes_that_other_filters_refuse_are_not_cleared() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    world = full(node("n0", cpu=1), node("n1", cpu=1, unschedulable=True), node("n2", cpu=1, taints=[taint]))
    assert cleared(world, [2, 1, 0]) == [0]
    world.put_node(node("n1", cpu=1))
    assert cleared(world, [2, 1, 0]) == [1, 0]


def test_users_filters_are_asked_about_nodes_that_arithmetic_leaves() -> None:
    nodes = [node(f"n{i}", cpu=1) for i in range(5)]
    world = full(*nodes, plugins={"Picky": Picky})
    world.add_pod(pod("important", "n4", **ONE, priority=10))
    there = dry_runs(world)
    Picky.asked = 0
    assert there.clear(np.arange(5)).slots.tolist() == [0, 3]
    assert Picky.asked == 4


def test_rivals_of_at_least_the_same_priority_count() -> None:
    world = full(node("n0", cpu=2), node("n1", cpu=2), node("n2", cpu=2))
    assert cleared(world, [0, 1, 2]) == []
    for name, priority in (("n0", 10), ("n1", 9), ("gone", 10)):
        world.nominate(pod(f"q-{name}", nominated=name, **ONE, priority=priority))
    assert cleared(world, [0, 1, 2]) == [0]


def test_candidates_outlive_changes() -> None:
    world = full(node("n0", cpu=1))
    there = dry_runs(world)
    candidates = there.candidates(there.clear(np.array([0])))
    world.cluster.remove_pod("default/on-n0")
    there.clear(np.array([0]))
    assert [victim.name for victim in candidates[0].victims] == ["on-n0"]


def test_reasons() -> None:
    world = full(node("n0", cpu=1), node("n1", cpu=1, unschedulable=True), node("n2", cpu=1, pods=1), node("n3", cpu=1))
    world.cluster.remove_pod("default/on-n3")
    world.add_pod(pod("important", "n2", priority=10))
    counts, others = dry_runs(world, requests={"cpu": "2"}).reasons(np.arange(4))
    expected = {"Insufficient cpu": 2, "Too many pods": 1, "No preemption victims found for incoming pod": 1}
    assert +counts == expected
    assert others.tolist() == [1]
