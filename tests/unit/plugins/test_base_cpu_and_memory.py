"""The shared arithmetic of cpu and memory against its definition, one node at a time in plain ints."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.builders import World, node, pod

from stowplan.framework import CycleState, NodeInfo, Pod
from stowplan.plugins.base import BALANCED_PART, EXACT_IN_FLOAT, LEAST_ALLOCATED_PART, CpuAndMemory

RESOURCES = ("cpu", "memory")


def evenness(fractions: list[float]) -> int:
    one, other = (min(1.0, fraction) for fraction in fractions)
    return int((1 - abs((one - other) / 2)) * 100)


class Definition:
    """What should come out for a pod that states all its requests, as do those that run."""

    def __init__(self, info: NodeInfo, newcomer: Pod) -> None:
        self.offered = [info.allocatable.get(name, 0) for name in RESOURCES]
        self.used = [info.requested.get(name, 0) for name in RESOURCES]
        self.asked = [newcomer.template.requests[name] for name in RESOURCES]
        self.full = len(info.pods) >= info.allocatable["pods"]

    def fits(self) -> bool:
        amounts = zip(self.offered, self.used, self.asked, strict=True)
        return not self.full and all(asked <= offered - used for offered, used, asked in amounts)

    def least_allocated(self) -> int:
        amounts = zip(self.offered, self.used, self.asked, strict=True)
        return sum(max(0, offered - used - asked) * 100 // offered for offered, used, asked in amounts) // 2

    def balanced(self) -> int:
        before = evenness([u / o for u, o in zip(self.used, self.offered, strict=True)])
        after = evenness([(u + a) / o for u, a, o in zip(self.used, self.asked, self.offered, strict=True)])
        return 50 + (50 + after - before) // 2


def agrees(world: World, newcomer: Pod) -> None:
    table = world.cluster.nodes
    resources = table.derive(CpuAndMemory)
    assert resources.applicable()
    slots = np.array(sorted(table.slot_of.values())[::2])
    for nodes in (table.everything(), table.subset(slots)):
        fits = resources.fits(newcomer.template, nodes)
        least = resources.scores(LEAST_ALLOCATED_PART, newcomer.template, nodes)
        balanced = resources.scores(BALANCED_PART, newcomer.template, nodes)
        for position, info in nodes.infos():
            definition = Definition(info, newcomer)
            told = (bool(fits[position]), least[position], balanced[position])
            assert told == (definition.fits(), definition.least_allocated(), definition.balanced()), info.name


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1, 10**9, EXACT_IN_FLOAT // 16])
def test_definition(seed: int, scale: int) -> None:
    random = Random(seed)
    world = World(node(f"n{i}", random.randint(1, 8), random.randint(1, 15) * scale, 3) for i in range(12))
    for i in range(30):
        amounts = {"cpu": f"{random.randint(0, 3000)}m", "memory": random.randint(0, 4 * scale)}
        world.add_pod(pod(f"r{i}", f"n{random.randrange(12)}", requests=amounts))
    agrees(world, world.pod(pod("p", requests={"cpu": "700m", "memory": random.randint(1, 2 * scale)})))


@pytest.mark.parametrize("changes", [1, 5, 40])
def test_facts_follow_the_cluster(changes: int) -> None:
    world = World(node(f"n{i}") for i in range(30))
    newcomer = world.pod(pod("p", requests={"cpu": 1, "memory": "1Gi"}))
    agrees(world, newcomer)
    for i in range(changes):
        world.add_pod(pod(f"r{i}", f"n{i % 30}", requests={"cpu": "100m", "memory": "500Mi"}))
    agrees(world, newcomer)
    world.cluster.remove_pod("default/r0")
    world.cluster.remove_node("n3")
    world.put_node(node("n4", 2, "30Gi"))
    agrees(world, newcomer)
    for i in range(30, 30 + 2 * changes):
        world.put_node(node(f"n{i}", 8))
    agrees(world, newcomer)


@pytest.mark.parametrize(
    ("odd", "applicable"),
    [
        (node("odd", 4, EXACT_IN_FLOAT - 1), True),
        (node("odd", 4, EXACT_IN_FLOAT), False),
        (node("odd", 4, 0), False),
        (node("odd", 0, "8Gi"), False),
    ],
)
def test_applicable(odd: dict[str, object], applicable: bool) -> None:
    world = World([node("n")])
    resources = world.cluster.nodes.derive(CpuAndMemory)
    assert resources.applicable()
    world.put_node(odd)
    assert resources.applicable() is applicable
    world.cluster.remove_node("odd")
    assert resources.applicable() is (world.cluster.nodes.allocatable["memory"].widest < EXACT_IN_FLOAT)


def test_pods_without_requests_mind_only_the_number_of_pods() -> None:
    world = World([node("overcommitted", 1, "1Gi"), node("full", pods=1), node("n")])
    world.add_pod(pod("r", "overcommitted", requests={"cpu": 2, "memory": "2Gi"}))
    world.add_pod(pod("s", "full"))
    nodes = world.cluster.nodes.everything()
    resources = world.cluster.nodes.derive(CpuAndMemory)
    assert resources.fits(world.pod(pod("p")).template, nodes).tolist() == [True, False, True]


def test_scores_are_weighed() -> None:
    world = World([node("a"), node("b", 8)])
    template, nodes = (
        world.pod(pod("p", requests={"cpu": 1, "memory": "1Gi"})).template,
        world.cluster.nodes.everything(),
    )
    resources = world.cluster.nodes.derive(CpuAndMemory)
    least = resources.scores(LEAST_ALLOCATED_PART, template, nodes)
    balanced = resources.scores(BALANCED_PART, template, nodes)
    for weights, expected in (
        ({LEAST_ALLOCATED_PART: 1, BALANCED_PART: 1}, least + balanced),
        ({LEAST_ALLOCATED_PART: 3, BALANCED_PART: 10**9}, 3 * least + 10**9 * balanced),
        ({BALANCED_PART: 1}, balanced),
    ):
        total = resources.total(template, nodes, weights)
        assert total is not None
        assert total.tolist() == expected.tolist()
    world.put_node(node("c", 4, 0))
    assert resources.total(template, world.cluster.nodes.everything(), {BALANCED_PART: 1}) is None


def test_scores_during_a_what_if_do_not_use_kept_facts() -> None:
    world = World([node("a"), node("b")], [pod("big", "a", requests={"cpu": "2", "memory": "1Gi"})])
    newcomer, state = world.pod(pod("new", requests={"cpu": "1"})), CycleState()
    nodes = world.cluster.nodes.everything()
    plugins = [world.plugin("NodeResourcesFit"), world.plugin("NodeResourcesBalancedAllocation")]
    before = [plugin.score_nodes(state, newcomer, nodes).tolist() for plugin in plugins]
    big = world.cluster.pods["default/big"]
    world.put_node(node("b", cpu="8"))  # The facts are out of date when the what-if begins.
    with world.cluster.what_if() as journal:
        info = world.cluster.nodes.get("a")
        assert info is not None
        journal.remove(big, info)
        for plugin in plugins:
            scores = plugin.score_nodes(state, newcomer, nodes)
            assert [scores[at] for at, each in nodes.infos()] == [
                plugin.score(state, newcomer, each) for _, each in nodes.infos()
            ]
    world.put_node(node("b"))
    assert [plugin.score_nodes(state, newcomer, nodes).tolist() for plugin in plugins] == before
