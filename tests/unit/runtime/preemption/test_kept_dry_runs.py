from __future__ import annotations

import numpy as np
from tests.builders import node, pod
from tests.unit.runtime.preemption.crowded import COUNT, DEMANDS, EVERY, crowd, told

from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run_many import DryRunMany
from stowplan.runtime.preemption.kept_dry_runs import KeptDryRuns, dry_runs_for
from stowplan.runtime.preemption.victim_table import VictimTable


def test_kept_results_are_those_of_the_arithmetic() -> None:
    world = crowd()
    arithmetic = DryRunMany(VictimTable.of(world.profile, 50), DEMANDS)
    kept = KeptDryRuns(arithmetic)
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
    table = VictimTable.of(crowd().profile, 50)
    assert isinstance(dry_runs_for(table, DEMANDS), DryRunMany)
    kept = dry_runs_for(table, DEMANDS)
    assert isinstance(kept, KeptDryRuns)
    for amount in range(15):
        dry_runs_for(table, (Demand("cpu", amount, ""),))
    assert dry_runs_for(table, DEMANDS) is kept
    for amount in 2 * list(range(16)):
        dry_runs_for(table, (Demand("cpu", amount, ""),))
    assert isinstance(dry_runs_for(table, DEMANDS), DryRunMany)
