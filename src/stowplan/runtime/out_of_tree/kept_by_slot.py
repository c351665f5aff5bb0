"""Answers about nodes, kept by slot until the node changes in a way that the plugin looks at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.framework import Plugin, Slots

_MOST_KEPT = 256


class KeptBySlot:
    """A value for each slot, where it is known."""

    __slots__ = ("_known", "_position", "values")

    def __init__(self, dtype: type[np.generic]) -> None:
        self.values: NDArray[Any] = np.zeros(0, dtype=dtype)
        self._known = np.zeros(0, dtype=np.bool_)
        self._position = 0

    def catch_up(self, nodes: NodeTable, plugin: Plugin) -> None:
        """Forget what was said of nodes that have changed since."""
        log = nodes.node_log if plugin.scope == "node" else nodes.log
        if len(self.values) < nodes.capacity:
            more = nodes.capacity - len(self.values)
            self.values = np.concatenate([self.values, np.zeros(more, dtype=self.values.dtype)])
            self._known = np.concatenate([self._known, np.zeros(more, dtype=np.bool_)])
        if self._position != log.position:
            changed = log.since(self._position)
            self._known[log.changed_since(self._position) if changed is None else changed] = False
            self._position = log.position

    def unasked(self, slots: Slots) -> Slots:
        """Those of the slots that nothing is known about."""
        unknown: Slots = slots[~self._known[slots]]
        return unknown

    def put(self, slots: Slots, values: NDArray[Any]) -> None:
        self.values[slots] = values
        self._known[slots] = True


class KeptAnswers:
    """What plugins said, by plugin and what it reads of the pod; the least recently used are dropped."""

    def __init__(self, nodes: NodeTable, dtype: type[np.generic]) -> None:
        self._nodes = nodes
        self._dtype = dtype
        self._kept: OrderedDict[Hashable, KeptBySlot] = OrderedDict()

    def of(self, plugin: Plugin, question: Hashable) -> KeptBySlot | None:
        """Up to date; None where the plugin's answers may depend on anything."""
        if plugin.scope == "cluster":
            return None
        key = (plugin.name, question)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = KeptBySlot(self._dtype)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        kept.catch_up(self._nodes, plugin)
        return kept

    def clear(self) -> None:
        self._kept.clear()
