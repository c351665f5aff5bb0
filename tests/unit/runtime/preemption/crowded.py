"""A small crowded cluster, and what clearing its nodes comes to in plain lists."""

from __future__ import annotations

import numpy as np
from tests.builders import World, node, pod

from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run_many import Cleared
from stowplan.runtime.preemption.kept_dry_runs import MAX_SCALAR_DRY_RUNS

DEMANDS = (Demand("pods", 1, "Too many pods"), Demand("cpu", 2000, "Insufficient cpu"))
COUNT = 3 * MAX_SCALAR_DRY_RUNS
EVERY = np.arange(COUNT)


def crowd() -> World:
    """Nodes of four cores, full of pods of half a core, one core...; the last has no room even without them."""
    world = World()
    for i in range(COUNT):
        world.put_node(node(f"n{i}", cpu=4))
        for j in range(i % 5 + 1):
            world.add_pod(pod(f"p{i}-{j}", f"n{i}", requests={"cpu": f"{500 * (i % 3 + 1)}m"}, priority=j))
    world.add_pod(pod("important", f"n{COUNT - 1}", requests={"cpu": "3"}, priority=100))
    return world


def told(cleared: Cleared) -> list[tuple[int, list[int], list[int]]]:
    """(slot, places of victims, costs) of each node."""
    places = [np.flatnonzero(cleared.victims[:, i]).tolist() for i in range(len(cleared.slots))]
    return list(zip(cleared.slots.tolist(), places, cleared.costs.T.tolist(), strict=True))
