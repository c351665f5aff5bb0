"""What it takes to clear nodes, kept while they do not change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run_many import Arithmetic, Cleared, candidate_of
from stowplan.runtime.preemption.select_candidate import CRITERIA, Costs, costs_of
from stowplan.runtime.preemption.victim_table import Ints, Roster

FEW = 4
"""Up to so many nodes plain ints are cheaper than vectors."""

_KEPT = 16
"""Sets of demands that are remembered."""


class Clearings:
    """Results of the arithmetic by slot, worked out again for nodes that changed."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        size = len(arithmetic.roster.rows)
        self._possible: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        self._victims: NDArray[np.bool_] = np.zeros((0, size), dtype=np.bool_)
        self._costs: Costs = np.zeros((CRITERIA, size), dtype=np.int64)
        self._made: NDArray[np.int64] = np.zeros(size, dtype=np.int64)

    def clear(self, slots: Slots, nominated: Ints | None) -> Cleared:
        """As `Arithmetic.clear`. What depends on nominated pods is not kept, since they come and go unnoticed."""
        stale = self._arithmetic.roster.stale(slots, self._made)
        if nominated is not None:
            awaited = nominated[:, slots].any(axis=0)
            stale |= awaited
        changed = slots[stale]
        if len(changed):
            if len(changed) > FEW:
                self._renew(changed, nominated)
            else:
                for slot in changed.tolist():
                    self._renew_one(slot, nominated)
            self._made[changed] = self._arithmetic.roster.position
            if nominated is not None:
                self._made[slots[awaited]] = 0
        slots = slots[self._possible[slots]]
        return Cleared(slots, self._victims.take(slots, axis=1), self._costs.take(slots, axis=1))

    def _renew(self, slots: Slots, nominated: Ints | None) -> None:
        cleared = self._arithmetic.clear(slots, nominated)
        self._possible[slots] = False
        self._possible[cleared.slots] = True
        self._mark(cleared.slots, slice(len(cleared.victims)), cleared.victims)
        self._costs[:, cleared.slots] = cleared.costs

    def _renew_one(self, slot: int, nominated: Ints | None) -> None:
        row, victims = self._arithmetic.clear_one(slot, nominated)
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


def way_to_clear(roster: Roster, demands: tuple[Demand, ...]) -> Arithmetic | Clearings:
    """Results are kept from the second pod on that asks for the same."""
    arithmetic = Arithmetic(roster, demands)
    kept = roster.clearings
    if demands not in kept:
        kept[demands] = None
        if len(kept) > _KEPT:
            kept.popitem(last=False)
        return arithmetic
    kept.move_to_end(demands)
    found = kept[demands]
    if found is None:
        found = kept[demands] = Clearings(arithmetic)
    return found
