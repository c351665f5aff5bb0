"""What the arithmetic of cpu and memory starts from: for each node, whatever does not depend on the pod."""

from __future__ import annotations

from math import nan

import numpy as np

from stowplan.cache.columns import Floats, float_view
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.nodes import NodeTable
from stowplan.framework import Nodes, Slots

FREE = slice(0, 2)
"""Cpu and memory that are left. No number where the node takes no more pods: that is enough for nobody."""
BASES = slice(2, 6)
"""For cpu, then for memory: 100 x what scoring takes for free, and the requested amount, negated."""
DIVISORS = slice(6, 10)
"""What makes shares of these: the allocatable amount, and twice that."""
HANDICAP = 10
"""150 less the evenness of the node as it is."""

EXACT_IN_FLOAT = 1 << 46
"""Below this, 100 x amount and its quotient, cut to an integer, are exact in a float."""

_COUNT = 11
_PADDING = 24
"""Keeps rows from starting at multiples of a power of two: they would compete for the same lines of the processor's
caches."""


class NodeFacts(KeptBySlot):
    """A row for each fact, brought up to date for the nodes that changed when it is read."""

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes)
        self._amounts = tuple(column.values for column in nodes.sheet.columns)
        self._rows: Floats = np.zeros((_COUNT, 0))
        self.exact = False
        """Whether the facts of all nodes have a meaning and are exact: each has cpu and memory, and not too much."""
        # The latest read: a pass over some nodes reads their facts more than once.
        self._latest_nodes: Nodes | None = None
        self._latest_position = 0
        self._latest_facts: Floats = self._rows

    def of(self, nodes: Nodes) -> Floats:
        """The facts of some nodes; not to be written to."""
        position = self._log.position
        if self._latest_nodes is nodes and self._latest_position == position:
            return self._latest_facts
        if self._position != position:
            self.refresh()
        index = nodes.index
        facts: Floats = self._rows[:, index] if isinstance(index, slice) else self._rows.take(index, axis=1)
        self._latest_nodes, self._latest_position, self._latest_facts = nodes, position, facts
        return facts

    def rebuild(self) -> None:
        capacity = self.nodes.capacity
        self._rows = np.zeros((_COUNT, capacity + _PADDING))
        views = [float_view(row) for row in self._rows]
        self._changing = (*views[FREE], *views[BASES], views[HANDICAP])
        self.repair_many(np.arange(capacity))

    def repair_one(self, slot: int) -> None:
        cpus, memories, used_cpus, used_memories, filled_cpus, filled_memories, pods, allowed = self._amounts
        cpu, memory, used_cpu, used_memory = cpus[slot], memories[slot], used_cpus[slot], used_memories[slot]
        if not cpu or not memory:
            self.repair_many(np.array([slot]))
            return
        apart = abs(min(used_cpu / cpu, 1.0) - min(used_memory / memory, 1.0)) / 2
        facts = (
            cpu - used_cpu if pods[slot] < allowed[slot] else nan,
            memory - used_memory,
            100 * (cpu - filled_cpus[slot]),
            -used_cpu,
            100 * (memory - filled_memories[slot]),
            -used_memory,
            150 - int((1 - apart) * 100),
        )
        for view, fact in zip(self._changing, facts, strict=True):
            view[slot] = fact

    def repair_many(self, slots: Slots) -> None:
        """Facts of a node without cpu or memory are partly meaningless."""
        amounts = self.nodes.sheet.data.take(slots, axis=1)
        cpu, memory, used_cpu, used_memory, filled_cpu, filled_memory, pods, allowed = amounts
        with np.errstate(divide="ignore", invalid="ignore"):
            fractions = np.minimum(amounts[2:4] / amounts[:2], 1.0)
        apart = np.abs(fractions[0] - fractions[1]) / 2
        facts = (
            np.where(pods < allowed, cpu - used_cpu, nan),
            memory - used_memory,
            100 * (cpu - filled_cpu),
            -used_cpu,
            100 * (memory - filled_memory),
            -used_memory,
            cpu,
            2 * cpu,
            memory,
            2 * memory,
            150 - np.floor((1 - apart) * 100),
        )
        self._rows[:, slots] = facts
        offered = (self.nodes.allocatable["cpu"], self.nodes.allocatable["memory"])
        self.exact = all(self.nodes.everywhere(c) and c.widest < EXACT_IN_FLOAT for c in offered)
