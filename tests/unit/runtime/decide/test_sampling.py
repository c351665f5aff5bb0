"""percentageOfNodesToScore, with kube-scheduler's numbers and its order of nodes."""

from typing import Any

import pytest
from tests.builders import Json, World, node, pod, profile_config

from stowplan.runtime.decide.sampling import zone_interleaved, zone_key


def sampled(percentage: int, profile: int | None = None) -> Json:
    more: dict[str, Any] = {} if profile is None else {"percentageOfNodesToScore": profile}
    return {**profile_config(**more), "percentageOfNodesToScore": percentage}


@pytest.mark.parametrize(
    ("nodes", "config", "feasible"),
    [
        (10, sampled(40), 10),
        (99, sampled(1), 99),
        (120, sampled(10), 100),
        (400, sampled(40), 160),
        (400, sampled(100, 40), 160),
        (400, sampled(0), 400),
        (400, sampled(100), 400),
    ],
)
def test_how_many_nodes_are_looked_for(nodes: int, config: Json, feasible: int) -> None:
    world = World([node(f"n{i}") for i in range(nodes)], config=config)
    for _ in range(3):
        assert world.decide(pod("p")).feasible == feasible


def test_zones_take_turns() -> None:
    zones = {"a": 3, "b": 1, "c": 2}
    world = World([node(f"{zone}{i}", zone=zone) for zone, count in zones.items() for i in range(1, count + 1)])
    infos = world.cluster.nodes.infos
    assert [infos[slot].name for slot in zone_interleaved(world.cluster.nodes)] == [  # type: ignore[union-attr]
        "a1", "b1", "c1", "a2", "c2", "a3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ":\0:z"),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, "r:\0:z"),
        ({"failure-domain.beta.kubernetes.io/zone": "old", "topology.kubernetes.io/zone": "new"}, ":\0:old"),
    ],
)
def test_zone_keys(labels: dict[str, str], key: str) -> None:
    assert zone_key(labels) == key


def test_searches_go_round() -> None:
    """Each of many pods is offered other nodes than the one before, so that all nodes get their turn."""
    world = World([node(f"n{i:03}") for i in range(200)], config=sampled(50))
    chosen = set()
    for i in range(60):
        newcomer = world.pod(pod(f"p{i}", requests={"cpu": 1}))
        decision = world.profile.decide(newcomer)
        assert decision.feasible == 100
        world.cluster.assume(newcomer, decision.node_name)
        chosen.add(decision.node_name)
    assert {name[1] for name in chosen} == {"0", "1"}
    assert len(chosen) == 60
