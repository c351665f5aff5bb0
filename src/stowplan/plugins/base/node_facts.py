"""What the arithmetic of cpu and memory starts from: for each node, whatever does not depend on the pod."""

from __future__ import annotations

from math import nan

import numpy as np

from stowplan.cache.columns import Floats, float_view
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

_COUNT = 11
_FEW = 16
"""Up to so many changed nodes plain ints are cheaper than vectors."""
_PADDING = 24
"""Keeps rows from starting at multiples of a power of two: they would compete for the same lines of the processor's
caches."""


class NodeFacts:
    """A row for each fact, brought up to date for the nodes that changed when it is read."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._amounts = tuple(column.values for column in nodes.sheet.columns)
        self._rows: Floats = np.zeros((_COUNT, 0))
        self._position = self._node_position = 0
        # What was read last: a pass over some nodes reads their facts more than once.
        self._latest_nodes: Nodes | None = None
        self._latest_position = 0
        self._latest_facts: Floats = self._rows

    def of(self, nodes: Nodes) -> Floats:
        """The facts of some nodes; not to be written to."""
        position = self._nodes.log.position
        if self._latest_nodes is nodes and self._latest_position == position:
            return self._latest_facts
        if self._position != position:
            self._catch_up()
        index = nodes.index
        facts: Floats = self._rows[:, index] if isinstance(index, slice) else self._rows.take(index, axis=1)
        self._latest_nodes, self._latest_position, self._latest_facts = nodes, position, facts
        return facts

    def _catch_up(self) -> None:
        table = self._nodes
        if self._rows.shape[1] != table.capacity + _PADDING:
            self._rows = np.zeros((_COUNT, table.capacity + _PADDING))
            views = [float_view(row) for row in self._rows]
            self._changing = (*views[FREE], *views[BASES], views[HANDICAP])
            self._position = self._node_position = 0
        recent = None if self._node_position != table.node_log.position else table.log.since(self._position)
        if recent is not None and len(recent) <= _FEW:
            for slot in recent:
                self._note(slot)
        else:
            self._note_all(table.log.changed_since(self._position))
        self._position, self._node_position = table.log.position, table.node_log.position

    def _note(self, slot: int) -> None:
        """The pods on a node changed."""
        cpus, memories, used_cpus, used_memories, filled_cpus, filled_memories, pods, allowed = self._amounts
        cpu, memory, used_cpu, used_memory = cpus[slot], memories[slot], used_cpus[slot], used_memories[slot]
        if not cpu or not memory:
            self._note_all(np.array([slot]))
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

    def _note_all(self, slots: Slots) -> None:
        """Many nodes changed, or the pods on them. Of a node without cpu or memory not all of this has a meaning."""
        amounts = self._nodes.sheet.data.take(slots, axis=1)
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
