"""The terms of the cpu and memory scores that do not depend on the pod, for each node."""

from __future__ import annotations

from math import nan

import numpy as np

from stowplan import framework as fwk
from stowplan.cache.columns import Floats, float_view
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.nodes import NodeTable

FREE = slice(0, 2)
"""Free cpu and memory. NaN for a node without room for another pod: no request is below that."""
BASES = slice(2, 6)
"""100 x the free amount as scoring counts it, of memory and of cpu; half the requested amount, negated, of memory and
of cpu."""
DIVISORS = slice(6, 8)
"""The divisors of both pairs of bases: allocatable memory and cpu. Halves are exact, so a quotient by the amount is
equal to that of the whole by twice the amount, and each row takes time."""
BALANCE_BASE = 8
"""150 less the balance of the node without the pod."""

EXACT_IN_FLOAT = 1 << 46
"""Below this, 100 x amount and its truncated quotient are exact in a float."""

_ROW_COUNT = 9
_PADDING_SLOTS = 24
"""Keeps rows from starting at multiples of a power of two, where they would compete for the same cache lines."""


class NodeFacts(KeptBySlot[None]):
    """One row for each term; updated, when it is read, for the nodes that changed."""

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._amounts = tuple(column.values for column in nodes.sheet.columns)
        self._rows: Floats = np.zeros((_ROW_COUNT, 0))
        self.exact = False
        """Whether the terms of all nodes are meaningful and exact: every node has cpu and memory, within
        EXACT_IN_FLOAT."""
        # The latest result of `of`, which is called more than once for the same nodes.
        self._latest_nodes: fwk.Nodes | None = None
        self._latest_position = 0
        self._latest_facts: Floats = self._rows

    def of(self, nodes: fwk.Nodes) -> Floats:
        """The terms of a subset of nodes; read-only."""
        position = self._log.position
        if self._latest_nodes is nodes and self._latest_position == position:
            return self._latest_facts
        if self._position != position:
            self.refresh(None)
        index = nodes.index
        facts: Floats = self._rows[:, index] if isinstance(index, slice) else self._rows.take(index, axis=1)
        self._latest_nodes, self._latest_position, self._latest_facts = nodes, position, facts
        return facts

    def rebuild(self, context: None = None) -> None:
        capacity = self.nodes.capacity
        self._rows = np.zeros((_ROW_COUNT, capacity + _PADDING_SLOTS))
        views = [float_view(row) for row in self._rows]
        self._changing = (*views[FREE], *views[BASES], views[BALANCE_BASE])
        self.repair_many(np.arange(capacity))

    def repair_one(self, slot: int, context: None = None) -> None:
        cpus, memories, used_cpus, used_memories, filled_cpus, filled_memories, pods, allowed = self._amounts
        cpu, memory, used_cpu, used_memory = cpus[slot], memories[slot], used_cpus[slot], used_memories[slot]
        if not cpu or not memory:
            self.repair_many(np.array([slot]))
            return
        free_cpus, free_memories, memory_bases, cpu_bases, memory_halves, cpu_halves, balances = self._changing
        free_cpus[slot] = cpu - used_cpu if pods[slot] < allowed[slot] else nan
        free_memories[slot] = memory - used_memory
        memory_bases[slot] = 100 * (memory - filled_memories[slot])
        cpu_bases[slot] = 100 * (cpu - filled_cpus[slot])
        memory_halves[slot] = used_memory / -2
        cpu_halves[slot] = used_cpu / -2
        difference = abs(min(used_cpu / cpu, 1.0) - min(used_memory / memory, 1.0)) / 2
        balances[slot] = 150 - int((1 - difference) * 100)

    def repair_many(self, slots: fwk.Slots, context: None = None) -> None:
        """Computes the terms of some nodes. For a node without cpu or memory some terms are meaningless."""
        amounts = self.nodes.sheet.data.take(slots, axis=1)
        cpu, memory, used_cpu, used_memory, filled_cpu, filled_memory, pods, allowed = amounts
        with np.errstate(divide="ignore", invalid="ignore"):
            fractions = np.minimum(amounts[2:4] / amounts[:2], 1.0)
        difference = np.abs(fractions[0] - fractions[1]) / 2
        facts = (
            np.where(pods < allowed, cpu - used_cpu, nan),
            memory - used_memory,
            100 * (memory - filled_memory),
            100 * (cpu - filled_cpu),
            used_memory / -2,
            used_cpu / -2,
            memory,
            cpu,
            150 - np.floor((1 - difference) * 100),
        )
        self._rows[:, slots] = facts
        offered = (self.nodes.allocatable["cpu"], self.nodes.allocatable["memory"])
        self.exact = all(self.nodes.everywhere(c) and c.widest < EXACT_IN_FLOAT for c in offered)
