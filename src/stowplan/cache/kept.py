"""Answers by slot, repaired from the change logs.

Everything that is worked out for each node and kept between scheduling cycles is one of these two classes: plans, node
answers shared by pod templates, facts about cpu and memory, victims, dry runs, volume limits, device offers. What-ifs
are not in the change logs, so kept answers never see them.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.nodes import NodeTable

C = TypeVar("C")
"""What a repair needs besides the slot; None for nothing."""

_NEVER = -1 << 62
"""The position of answers that were never made."""

MAX_SCALAR_REPAIRS = 16
"""Up to this many changed slots are repaired one by one in plain ints, more by one NumPy pass.

Measured with the default profile and 5,000 nodes: a slot of a plan costs 1.7 µs in plain ints, a pass 20 µs, of which
5 µs to find the slots, and hardly more for each further slot; for the facts about cpu and memory it is 1.5 and 23 µs.
"""


class KeptBySlot(Generic[C]):
    """Answers by slot that `refresh` brings up to date for the slots that changed since it was last called.

    A subclass owns the arrays, whose last axis is the slot, and overrides `rebuild`, `repair_many` and, where plain
    ints are worth it, `repair_one`. The argument of `refresh` is passed on to them.
    """

    __slots__ = ("_capacity", "_log", "_node_version", "_position", "nodes")

    rebuilds_for_nodes: ClassVar[bool] = False
    """Whether a change of a node object makes all answers stale, instead of those of its slot."""

    def __init__(self, nodes: NodeTable, *, follows_pods: bool = True) -> None:
        """`follows_pods` is False for answers that depend on node objects alone."""
        self.nodes = nodes
        self._log = nodes.log if follows_pods else nodes.node_log
        self._capacity = 0
        self._node_version = -1
        self._position = _NEVER

    def refresh(self, context: C) -> None:
        """Repair the answers of all slots that changed. After an exception the next call rebuilds everything."""
        log, position = self._log, self._position
        behind = log.position - position
        if not behind:
            return
        self._position = _NEVER
        if behind > MAX_SCALAR_REPAIRS or self._node_version != self.nodes.version:
            self._repair_nodes(position, context)
        else:
            recent = log.slots[-behind:]  # `log.recent`, without a call.
            for slot in set(recent) if behind > 1 else recent:
                self.repair_one(slot, context)
        self._position = position + behind

    def _repair_nodes(self, position: int, context: C) -> None:
        """Repair many slots, or node objects."""
        nodes = self.nodes
        nodes_changed = self._node_version != nodes.version
        self._node_version = nodes.version
        if position == _NEVER or self._capacity != nodes.capacity or (nodes_changed and self.rebuilds_for_nodes):
            self._capacity = nodes.capacity
            self.rebuild(context)
        else:
            self.repair_many(self.changed_slots(position), context)

    def discard(self) -> None:
        """Make the next `refresh` a rebuild."""
        self._position = _NEVER

    def changed_slots(self, position: int) -> NDArray[np.intp]:
        """The slots that changed at or after a position, for `repair_many`."""
        return self._log.changed_since(position)

    def rebuild(self, context: C) -> None:
        """Make arrays for `nodes.capacity` slots, and all answers anew."""
        raise NotImplementedError

    def repair_many(self, slots: NDArray[np.intp], context: C) -> None:
        """Make the answers of some slots anew, of which some may hold no node."""
        raise NotImplementedError

    def repair_one(self, slot: int, context: C) -> None:
        """Make the answer of one slot anew, after a change of the pods on its node."""
        self.repair_many(np.array([slot]), context)


class KeptOnDemand(KeptBySlot[None]):
    """Answers by slot that are made on demand: `refresh` forgets the answers of the slots that changed.

    A subclass overrides `rebuild` to make its arrays, and calls `settle` when it has filled in answers.
    """

    __slots__ = ("_known",)

    def __init__(self, nodes: NodeTable, *, follows_pods: bool = True) -> None:
        super().__init__(nodes, follows_pods=follows_pods)
        self._known: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    def rebuild(self, context: None = None) -> None:
        self._known = np.zeros(self.nodes.capacity, dtype=np.bool_)

    def repair_many(self, slots: NDArray[np.intp], context: None = None) -> None:
        self._known[slots] = False

    def repair_one(self, slot: int, context: None = None) -> None:
        self._known[slot] = False

    def unknown(self, slots: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the slots that have no answer."""
        missing: NDArray[np.intp] = slots[~self._known[slots]]
        return missing

    def is_known(self, slot: int) -> bool:
        return bool(self._known[slot])

    def settle(self, slots: NDArray[np.intp] | int) -> None:
        """Record that these slots have an answer."""
        self._known[slots] = True

    def forget(self, slots: NDArray[np.intp] | list[int] | slice) -> None:
        """Record that these slots have none, for a reason that the change logs do not show."""
        self._known[slots] = False
