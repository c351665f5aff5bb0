"""Dry runs of many nodes at once.

If the filters that read pods come down to free amounts, reprieving a pod is arithmetic, and each step is one NumPy
operation for all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import Mask, Slots
from stowplan.plugins.base import Demand
from stowplan.runtime.preemption.dry_run import PreemptionCandidate, in_order
from stowplan.runtime.preemption.select_candidate import Costs, VictimColumns, costs_of_columns
from stowplan.runtime.preemption.victim_table import AMOUNTS, Ints, VictimRow, VictimTable, requested


class Cleared(NamedTuple):
    """Nodes on which evictions make room."""

    slots: Slots
    victims: NDArray[np.bool_]
    """[place in the node's row of the victim table, position in `slots`]: the victims."""
    costs: Costs

    def head(self, count: int) -> Cleared:
        """The first `count` nodes."""
        return Cleared(self.slots[:count], self.victims[:, :count], self.costs[:, :count])

    def where(self, mask: Mask) -> Cleared:
        """The nodes for which the mask is true."""
        return Cleared(self.slots[mask], self.victims.compress(mask, axis=1), self.costs.compress(mask, axis=1))

    @classmethod
    def joined(cls, parts: Sequence[Cleared]) -> Cleared:
        """The nodes of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        width = max(len(part.victims) for part in parts)
        victims = [_widened(part.victims, width) for part in parts]
        slots, costs = [part.slots for part in parts], [part.costs for part in parts]
        return cls(np.concatenate(slots), np.concatenate(victims, axis=1), np.concatenate(costs, axis=1))


def _widened(victims: NDArray[np.bool_], places: int) -> NDArray[np.bool_]:
    """The victims with that many places; the new ones are empty."""
    if len(victims) == places:
        return victims
    wide = np.zeros((places, victims.shape[1]), dtype=np.bool_)
    wide[: len(victims)] = victims
    return wide


class DryRunMany:
    """The dry run for pods of one priority with the same demands."""

    def __init__(self, table: VictimTable, demands: tuple[Demand, ...]) -> None:
        self.table = table
        self._demands = demands
        self._resources = table.cover([demand.resource for demand in demands])

    def spare(self, slots: Slots, nominated: Ints | None) -> list[Ints]:
        """By demand: the amounts that nodes have left beside the new pod if all potential victims are removed.

        `nominated` are the requests of pods nominated to the nodes, [demand, slot].
        """
        self.table.fill(slots)
        free = [self.table.free[i].take(slots) for i in self._resources]
        for i, demand in enumerate(self._demands):
            free[i] -= demand.amount if nominated is None else demand.amount + nominated[i].take(slots)
        return free

    def clear(self, slots: Slots, nominated: Ints | None) -> Cleared:
        """The nodes that can be cleared."""
        spare = self.spare(slots, nominated)
        fits = spare[0] >= 0
        for left in spare[1:]:
            fits &= left >= 0
        if not fits.all():
            slots, spare = slots[fits], [left[fits] for left in spare]
        facts, width = self.table.facts, int(self.table.count[slots].max(initial=0))
        amounts = [facts[AMOUNTS + i, :width].take(slots, axis=1) for i in self._resources]
        victims = ~_reprieve(amounts, spare)
        some = victims.any(axis=0)
        if not some.all():
            slots, victims = slots[some], victims.compress(some, axis=1)
        return Cleared(slots, victims, self._costs(slots, victims))

    def clear_one(self, slot: int, nominated: Ints | None) -> tuple[VictimRow, list[int]]:
        """The scalar form of `clear`: the row of one node, and the places of its victims, if it can be cleared."""
        row = self.table.make_row(slot)
        amounts = [requested(row.pods, demand.resource) for demand in self._demands]
        spare = []
        for i, demand in enumerate(self._demands):
            offered, taken = self.table.columns[demand.resource]
            left = offered.values[slot] - taken.values[slot] + sum(amounts[i]) - demand.amount
            spare.append(left if nominated is None else left - int(nominated[i, slot]))
        victims: list[int] = []
        if min(spare) < 0:
            return row, victims
        for place, wants in enumerate(zip(*amounts, strict=True)):
            rest = [left - want for left, want in zip(spare, wants, strict=True)]
            if min(rest) < 0:
                victims.append(place)
            else:
                spare = rest
        return row, victims

    def _costs(self, slots: Slots, victims: NDArray[np.bool_]) -> Costs:
        facts = self.table.facts
        weights, starts, protected = (facts[i, : len(victims)].take(slots, axis=1) for i in range(AMOUNTS))
        weights *= victims
        protected *= victims
        return costs_of_columns(VictimColumns(victims, weights, starts, protected))


def candidate_of(row: VictimRow, places: list[int]) -> PreemptionCandidate:
    """The candidate of a row with the pods at some places as victims."""
    victims = [row.pods[place] for place in places]
    violations = sum(place < row.protected for place in places)
    return PreemptionCandidate(row.info, in_order(victims, 0 < row.protected < len(row.pods)), violations)


def _reprieve(amounts: list[Ints], spare: list[Ints]) -> NDArray[np.bool_]:
    """[place, position]: the pods that are reprieved, in the order of places, if they fit beside those before them."""
    stays = np.ones(amounts[0].shape, dtype=np.bool_)
    # Amounts that suffice for all pods decide nothing.
    tight = [(amount, left) for amount, left in zip(amounts, spare, strict=True) if (amount.sum(axis=0) > left).any()]
    for place, stay in enumerate(stays):
        for amount, left in tight:
            stay &= amount[place] <= left
        for amount, left in tight:
            left -= amount[place] * stay
    return stays
