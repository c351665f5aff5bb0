"""Dry runs of nodes, kept while the nodes do not change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.kept import KeptOnDemand
from stowplan.framework import Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run_many import Cleared, DryRunMany, candidate_of
from stowplan.runtime.preemption.select_candidate import CRITERIA, Costs, costs_of
from stowplan.runtime.preemption.victim_table import Ints, VictimTable

MAX_SCALAR_DRY_RUNS = 4
"""Up to this many nodes are dry-run one by one in plain ints: measured with 5,000 nodes, a node costs
45 µs, a NumPy pass at least 210 µs."""


class KeptDryRuns(KeptOnDemand):
    """Results of `DryRunMany` by slot, worked out again for nodes that changed."""

    def __init__(self, dry_run: DryRunMany) -> None:
        super().__init__(dry_run.table.nodes)
        self._dry_run = dry_run

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        size = self.nodes.capacity
        self._possible: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        self._victims: NDArray[np.bool_] = np.zeros((0, size), dtype=np.bool_)
        self._costs: Costs = np.zeros((len(CRITERIA), size), dtype=np.int64)

    def clear(self, slots: Slots, nominated: Ints | None) -> Cleared:
        """As `DryRunMany.clear`. What depends on nominated pods is not kept, because no log records them."""
        self.refresh(None)
        if nominated is not None:
            with_nominated = slots[nominated[:, slots].any(axis=0)]
            self.forget(with_nominated)
        changed = self.unknown(slots)
        if len(changed):
            if len(changed) > MAX_SCALAR_DRY_RUNS:
                self._renew(changed, nominated)
            else:
                for slot in changed.tolist():
                    self._renew_one(slot, nominated)
            self.settle(changed)
            if nominated is not None:
                self.forget(with_nominated)
        slots = slots[self._possible[slots]]
        return Cleared(slots, self._victims.take(slots, axis=1), self._costs.take(slots, axis=1))

    def _renew(self, slots: Slots, nominated: Ints | None) -> None:
        cleared = self._dry_run.clear(slots, nominated)
        self._possible[slots] = False
        self._possible[cleared.slots] = True
        self._mark(cleared.slots, slice(len(cleared.victims)), cleared.victims)
        self._costs[:, cleared.slots] = cleared.costs

    def _renew_one(self, slot: int, nominated: Ints | None) -> None:
        row, victims = self._dry_run.clear_one(slot, nominated)
        self._possible[slot] = bool(victims)
        if victims:
            self._mark(slot, victims, True)
            self._costs[:, slot] = costs_of([candidate_of(row, victims)])[:, 0]

    def _mark(self, slots: Slots | int, places: slice | list[int], victims: NDArray[np.bool_] | bool) -> None:
        missing = (places.stop if isinstance(places, slice) else places[-1] + 1) - len(self._victims)
        if missing > 0:
            self._victims = np.pad(self._victims, ((0, missing), (0, 0)))
        self._victims[:, slots] = False
        self._victims[places, slots] = victims


def dry_runs_for(table: VictimTable, demands: tuple[Demand, ...]) -> DryRunMany | KeptDryRuns:
    """Results are kept from the second pod on that demands the same."""
    arithmetic = DryRunMany(table, demands)
    kept = table.dry_runs.get(demands)
    if kept is None:
        if not table.dry_runs.used_before(demands):
            return arithmetic
        kept = KeptDryRuns(arithmetic)
        table.dry_runs.put(demands, kept)
    return kept
