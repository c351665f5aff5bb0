"""NodeResourcesBalancedAllocation against its definition."""

from random import Random
from statistics import pstdev

import numpy as np
import pytest
from tests.builders import Json, World, node, pod, profile_config

from stowplan.framework import Code, CycleState, Status

NAME = "NodeResourcesBalancedAllocation"
GPU = "example.com/gpu"


def config(*names: str) -> Json:
    return profile_config(args={NAME: {"resources": [{"name": name, "weight": 1} for name in names]}})


def balance(fractions: list[float]) -> int:
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        deviation = pstdev(fractions) if len(fractions) > 2 else 0.0
    return int((1 - deviation) * 100)


def expected(used: list[int], asked: list[int], offered: list[int]) -> int:
    def fractions(amounts: list[int]) -> list[float]:
        return [min(1.0, amount / offer) for amount, offer in zip(amounts, offered, strict=True) if offer]

    before = balance(fractions(used))
    after = balance(fractions([u + a for u, a in zip(used, asked, strict=True)]))
    return 50 + (50 + after - before) // 2


@pytest.mark.parametrize("seed", range(40))
def test_definition(seed: int) -> None:
    random = Random(seed)
    names = ["cpu", "memory", GPU][: random.choice((1, 2, 3, 3))]
    limits = {"cpu": 8, "memory": 5000, GPU: 4}
    offered = [{name: random.choice((0, limits[name], limits[name])) for name in names} for _ in range(6)]
    used = [{name: random.randrange(limits[name] + 2) for name in names} for _ in range(6)]
    asked = {name: random.randrange(1, limits[name] // 2 + 1) for name in names}
    world = World(config=config(*names))
    for i, (amounts, taken) in enumerate(zip(offered, used, strict=True)):
        extra = {GPU: str(amounts.get(GPU, 0))}
        world.put_node(node(f"n{i}", amounts["cpu"], amounts.get("memory", 0), extra=extra))
        world.add_pod(pod(f"r{i}", f"n{i}", requests=taken))
    plugin, newcomer = world.plugin(NAME), world.pod(pod("p", requests=asked))
    nodes = world.cluster.nodes.everything()
    state = CycleState()
    assert plugin.pre_score(state, newcomer, nodes) is None
    wanted = [expected([*used[i].values()], [*asked.values()], [*offered[i].values()]) for i in range(6)]
    # cpu is counted in thousandths, which changes no fraction.
    assert plugin.score_nodes(state, newcomer, nodes).tolist() == wanted
    assert [plugin.score(state, newcomer, info) for info in world.cluster.nodes] == wanted


def test_best_effort_pods_are_left_alone() -> None:
    world = World([node("n")])
    plugin, nodes = world.plugin(NAME), world.cluster.nodes.everything()
    for requests in ({}, {"cpu": 0}, {GPU: 1}):
        assert plugin.pre_score(CycleState(), world.pod(pod("p", requests=requests)), nodes) == Status(Code.Skip)


def test_scalar_resources_count_only_if_asked_for() -> None:
    world = World([node("n", 4, 4000, extra={GPU: "4"})], config=config("cpu", "memory", GPU))
    world.add_pod(pod("r", "n", requests={GPU: 4}))
    (info,) = world.cluster.nodes
    plugin = world.plugin(NAME)
    without = world.pod(pod("p", requests={"cpu": 1, "memory": 1000}))
    assert plugin.score(CycleState(), without, info) == 75
    beside = world.pod(pod("p", requests={"cpu": 1, "memory": 1000, GPU: 1}))
    assert plugin.score(CycleState(), beside, info) == expected([0, 0, 4], [1, 1000, 1], [4, 4000, 4])


def test_remembered_balances_follow_the_pods() -> None:
    world = World([node(f"n{i}") for i in range(30)])
    plugin, newcomer = world.plugin(NAME), world.pod(pod("p", requests={"cpu": 1}))
    state, nodes = CycleState(), world.cluster.nodes.everything()
    plugin.score_nodes(state, newcomer, nodes)
    for count in (1, 5, 40):
        for i in range(count):
            world.add_pod(pod(f"r{count}-{i}", f"n{i % 30}", requests={"memory": "100Mi"}))
        scalar = [plugin.score(state, newcomer, info) for info in world.cluster.nodes]
        assert np.array_equal(plugin.score_nodes(state, newcomer, nodes), scalar)
