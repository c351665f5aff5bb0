"""NodeResourceTopologyMatch on random nodes, compared with plain references written anew from the rules."""

from __future__ import annotations

from itertools import combinations
from random import Random
from statistics import variance

import pytest
from tests.builders import node, pod
from tests.unit.optional_plugins.test_node_resource_topology_match import (
    GPU,
    KIND,
    LEAST_NUMA,
    NAME,
    attributes,
    containers,
    refusals,
    strict,
    topology_world,
    zone,
)

from stowplan.framework import CycleState

GIB = 1 << 30


def reference_fits(zones: list[dict[str, int]], request: dict[str, int]) -> bool:
    return any(all(zone.get(name, 0) >= amount for name, amount in request.items()) for zone in zones)


def reference_score(zones: list[dict[str, int]], request: dict[str, int], strategy: str) -> int:
    scores = []
    for each in zones:
        there = {**each, "cpu": -(-each["cpu"] // 1000)}
        wanted = {**request, "cpu": -(-request["cpu"] // 1000)}
        if strategy == "BalancedAllocation":
            parts = [amount / there[name] if there[name] else 1.0 for name, amount in wanted.items()]
            scores.append(int((1 - variance(parts)) * 100) if max(parts) <= 1 else 0)
            continue
        fitting = {name: amount for name, amount in wanted.items() if there[name] and amount <= there[name]}
        parts = [
            (amount if strategy == "MostAllocated" else there[name] - amount) * 100 // there[name]
            for name, amount in fitting.items()
        ]
        scores.append(sum(parts) // 2)
    return min([score for score in scores if score] or [0])


def reference_span(zones: list[dict[str, int]], request: dict[str, int]) -> int:
    for size in range(1, len(zones) + 1):
        for chosen in combinations(zones, size):
            if all(sum(each[name] for each in chosen) >= amount for name, amount in request.items()):
                return size
    return 0


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"])
def test_random_nodes_equal_a_plain_reference(strategy: str) -> None:
    random = Random(2)
    args = {"scoringStrategy": {"type": strategy}}
    made = topology_world([], args=args)
    everything: dict[str, list[dict[str, int]]] = {}
    for index in range(1000):
        name = f"r{index}"
        zones = [
            {"cpu": random.randint(0, 16_000), "memory": random.randint(0, 32) * GIB}
            for _ in range(random.choice([1, 2, 2, 4]))
        ]
        everything[name] = zones
        made.put_node(node(name, cpu="64", memory="128Gi"))
        listed = [zone(i, cpu=f"{each['cpu']}m", memory=str(each["memory"])) for i, each in enumerate(zones)]
        made.put(KIND, name=name, zones=listed, attributes=strict("pod"))
    request = {"cpu": 7500, "memory": 12 * GIB}
    item = pod("p", containers=containers({"cpu": "7500m", "memory": "12Gi"}))
    rejected = refusals(made, item)
    plugin, newcomer = made.plugin(NAME), made.pod(item)
    for name, zones in everything.items():
        info = made.cluster.nodes.get(name)
        assert info is not None
        assert (name not in rejected) == reference_fits(zones, request), name
        score = plugin.score(CycleState(), newcomer, info)
        if strategy != "LeastNUMANodes":
            assert score == reference_score(zones, request, strategy), name
        else:
            span = reference_span(zones, request)
            assert score == (100 - 12 * span + 6 if span else 0), name
    assert 100 < len(rejected) < 900


def reference_container_fit(zones: list[dict[str, int]], requests: list[dict[str, int]], guaranteed: bool) -> bool:
    """Containers in order, each from the first zone that has all of its aligned resources."""
    left = [dict(each) for each in zones]
    for request in requests:
        aligned = {name: amount for name, amount in request.items() if amount and (guaranteed or name == GPU)}
        aligned = {
            name: amount for name, amount in aligned.items() if name != GPU or any(GPU in each for each in zones)
        }
        fitting = [each for each in left if all(each.get(name, -1) >= amount for name, amount in aligned.items())]
        if not fitting:
            return False
        for name, amount in aligned.items():
            fitting[0][name] -= amount
    return True


def reference_least_zones(zones: list[dict[str, int]], costs: list[list[int]], request: dict[str, int]) -> int:
    for size in range(1, len(zones) + 1):
        distances = {
            chosen: sum(costs[one][other] for one in chosen for other in chosen) / size**2
            for chosen in combinations(range(len(zones)), size)
        }
        fitting = [
            distance
            for chosen, distance in distances.items()
            if all(sum(zones[each][name] for each in chosen) >= amount for name, amount in request.items())
        ]
        if fitting:
            return 100 - 12 * size + (6 if min(fitting) == min(distances.values()) else 0)
    return 0


def text_of(amounts: dict[str, int]) -> dict[str, str]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize("guaranteed", [True, False])
def test_containers_on_random_nodes_equal_a_plain_reference(guaranteed: bool) -> None:
    random = Random(3)
    made = topology_world([])
    everything: dict[str, list[dict[str, int]]] = {}
    for index in range(1000):
        everything[f"r{index}"] = zones = [
            {"cpu": random.randint(0, 12) * 500, "memory": random.randint(0, 8) * GIB, GPU: random.randint(0, 3)}
            for _ in range(random.choice([1, 2, 3]))
        ]
        if random.random() < 0.2:
            for each in zones:
                del each[GPU]
        made.put_node(node(f"r{index}", cpu="64", memory="128Gi", extra={GPU: "8"}))
        listed = [
            zone(i, **{name.rpartition("/")[2]: text for name, text in text_of(each).items()})
            for i, each in enumerate(zones)
        ]
        made.put(KIND, name=f"r{index}", zones=listed, attributes=strict())
    for requests in (
        [{"cpu": 1500, "memory": GIB, GPU: 1}, {"cpu": 2000, "memory": 2 * GIB, GPU: 0}],
        [{"cpu": 500, "memory": GIB}, {"cpu": 3000, "memory": GIB, GPU: 2}, {"cpu": 500, "memory": GIB, GPU: 1}],
    ):
        item = pod("p", containers=containers(*map(text_of, requests), guaranteed=guaranteed))
        rejected = refusals(made, item)
        for name, zones in everything.items():
            assert (name not in rejected) == reference_container_fit(zones, requests, guaranteed), name
        assert 50 < len(rejected) < 900


def test_distances_on_random_nodes_equal_a_plain_reference() -> None:
    random = Random(4)
    made = topology_world([], args=LEAST_NUMA)
    expected = {}
    request = {"cpu": 7500, "memory": 6 * GIB}
    for index in range(1000):
        number = random.choice([1, 2, 3, 4])
        zones = [{"cpu": random.randint(0, 12) * 500, "memory": random.randint(0, 8) * GIB} for _ in range(number)]
        costs = [[10 if i == j else random.choice([11, 20, 21]) for j in range(number)] for i in range(number)]
        made.put_node(node(f"r{index}", cpu="64", memory="128Gi"))
        listed = [zone(i, costs[i], **text_of(each)) for i, each in enumerate(zones)]
        made.put(KIND, name=f"r{index}", zones=listed, attributes=attributes(topologyManagerScope="pod"))
        expected[f"r{index}"] = reference_least_zones(zones, costs, request)
    plugin, newcomer = made.plugin(NAME), made.pod(pod("p", containers=containers(text_of(request))))
    nodes = made.cluster.nodes.everything()
    scores = plugin.score_nodes(CycleState(), newcomer, nodes)
    found = {info.name: int(scores[position]) for position, info in nodes.infos() if info.name in expected}
    assert found == expected
    assert set(found.values()) == {0, 58, 64, 70, 76, 82}
