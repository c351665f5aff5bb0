from __future__ import annotations

import numpy as np
from tests.builders import node, pod
from tests.unit.runtime.preemption.crowded import COUNT, DEMANDS, EVERY, crowd, told

from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run_many import Arithmetic
from stowplan.runtime.preemption.kept_dry_runs import Clearings, way_to_clear
from stowplan.runtime.preemption.victim_table import Roster


def test_kept_results_are_those_of_the_arithmetic() -> None:
    world = crowd()
    arithmetic = Arithmetic(Roster.of(world.profile, 50), DEMANDS)
    kept = Clearings(arithmetic)
    nominated = np.zeros((2, COUNT), dtype=np.int64)
    nominated[:, 4] = (1, 1000)
    changes = (
        lambda: None,
        lambda: world.cluster.remove_pod("default/p4-4"),
        lambda: world.add_pod(pod("new", "n3", requests={"cpu": "2"}, priority=-1)),
        lambda: [world.put_node(node(f"n{i}", cpu=3)) for i in range(COUNT)],
        lambda: world.add_pod(pod("wide", "n0", requests={"cpu": "1"})),
    )
    for change in changes:
        change()
        for awaited in (None, nominated, None):
            assert told(kept.clear(EVERY, awaited)) == told(arithmetic.clear(EVERY, awaited))


def test_results_are_kept_from_the_second_time_on() -> None:
    roster = Roster.of(crowd().profile, 50)
    assert isinstance(way_to_clear(roster, DEMANDS), Arithmetic)
    kept = way_to_clear(roster, DEMANDS)
    assert isinstance(kept, Clearings)
    for amount in range(15):
        way_to_clear(roster, (Demand("cpu", amount, ""),))
    assert way_to_clear(roster, DEMANDS) is kept
    for amount in range(16):
        way_to_clear(roster, (Demand("cpu", amount, ""),))
    assert isinstance(way_to_clear(roster, DEMANDS), Arithmetic)
