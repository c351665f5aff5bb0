"""NodeResourcesAllocatable and PodState: verdict tables, and a plain reference over random nodes."""

from random import Random
from typing import Any

import pytest
from tests.builders import Json, World, node, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan.framework import CycleState, Plugin


def world_with(name: str, args: dict[str, Any] | None = None, nodes: list[Json] | None = None) -> World:
    plugin_config = [] if args is None else [{"name": name, "args": args}]
    return World(nodes or [], config=configuration({"score": {"enabled": [{"name": name}]}}, *plugin_config))


def scores(world: World, name: str, item: Json) -> dict[str, tuple[int, int]]:
    """Raw and normalised scores by node; both forms agree."""
    plugin: Plugin = world.plugin(name)
    newcomer, nodes, state = world.pod(item), world.cluster.nodes.everything(), CycleState()
    raw = plugin.score_nodes(state, newcomer, nodes)
    one_by_one: dict[str, Any] = {info.name: plugin.score(state, newcomer, info) for _, info in nodes.infos()}
    assert one_by_one == {info.name: raw[position] for position, info in nodes.infos()}
    final = plugin.normalize_nodes(state, newcomer, raw.copy(), nodes)
    normalized = dict(one_by_one)
    plugin.normalize_score(state, newcomer, normalized)
    assert normalized == {info.name: final[position] for position, info in nodes.infos()}
    return {name: (one_by_one[name], normalized[name]) for name in one_by_one}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        # cpu weight 2^20, memory weight 1: (2000 x 2^20 + 2^30) / (2^20 + 1) = 3023.99...
        (None, {"a": (-3023, 100), "b": (-6047, 66), "c": (-12095, 0)}),
        ({"mode": "Most"}, {"a": (3023, 0), "b": (6047, 33), "c": (12095, 100)}),
        ({"resources": [{"name": "cpu", "weight": 3}]}, {"a": (-2000, 100), "b": (-4000, 66), "c": (-8000, 0)}),
        ({"resources": [{"name": "example.com/none", "weight": 1}]}, {"a": (0, 0), "b": (0, 0), "c": (0, 0)}),
    ],
)
def test_allocatable(args: dict[str, Any] | None, expected: dict[str, tuple[int, int]]) -> None:
    nodes = [node("a", cpu="2", memory="1Gi"), node("b", cpu="4", memory="2Gi"), node("c", cpu="8", memory="4Gi")]
    world = world_with("NodeResourcesAllocatable", args, nodes)
    assert scores(world, "NodeResourcesAllocatable", pod("p")) == expected


def test_allocatable_of_random_nodes_equals_a_plain_reference() -> None:
    random = Random(7)
    amounts = {f"n{i}": (random.randint(1, 128_000), random.randint(1, 1 << 40)) for i in range(1000)}
    nodes = [node(name, cpu=f"{cpu}m", memory=str(memory)) for name, (cpu, memory) in amounts.items()]
    found = scores(world_with("NodeResourcesAllocatable", None, nodes), "NodeResourcesAllocatable", pod("p"))
    raw = {name: -((cpu * 1048576 + memory) // 1048577) for name, (cpu, memory) in amounts.items()}
    lowest, highest = min(raw.values()), max(raw.values())
    assert found == {name: (score, (score - lowest) * 100 // (highest - lowest)) for name, score in raw.items()}


def test_amounts_beyond_int64_are_summed_exactly() -> None:
    args = {"resources": [{"name": "memory", "weight": 1 << 62}, {"name": "cpu", "weight": 1}]}
    nodes = [node("a", memory="3"), node("b", memory="9")]
    assert scores(world_with("NodeResourcesAllocatable", args, nodes), "NodeResourcesAllocatable", pod("p")) == {
        "a": (-3, 100),
        "b": (-9, 0),
    }


def test_pod_state_counts_terminating_and_nominated_pods() -> None:
    world = world_with("PodState", None, [node("a"), node("b"), node("c")])
    going = [pod(f"t{i}", "a", deletionTimestamp="2026-01-01T00:00:00Z") for i in range(2)]
    for item in (*going, pod("stays", "a"), pod("other", "b")):
        world.add_pod(item)
    for i in range(2):
        world.nominator.add(world.pod(pod(f"nominated{i}")), "c")
    assert scores(world, "PodState", pod("p")) == {"a": (2, 100), "b": (0, 50), "c": (-2, 0)}
    world.cluster.remove_pod(world.pod(going[0]).uid)
    assert scores(world, "PodState", pod("p")) == {"a": (1, 100), "b": (0, 66), "c": (-2, 0)}
