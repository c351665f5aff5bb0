"""Answers that depend on the node object alone, shared by all templates that look alike to the plugin."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.framework import Nodes

Compute = Callable[[Nodes], NDArray[Any]]

_KEPT = 2048


class StaticAnswers:
    """Vectors by (plugin, what it reads of the template), brought up to date for the nodes that changed."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: OrderedDict[Hashable, tuple[int, NDArray[Any]]] = OrderedDict()

    def get(self, key: Hashable, compute: Compute) -> NDArray[Any]:
        """The plugin's vector over all slots up to the table's capacity. Never written to by callers."""
        nodes = self._nodes
        position = nodes.node_log.position
        known = self._known.get(key)
        if known is not None and len(known[1]) == nodes.capacity:
            self._known.move_to_end(key)
            if known[0] == position:
                return known[1]
            changed = nodes.node_log.changed_since(known[0])
            vector = known[1].copy()
            vector[changed] = compute(nodes.subset(changed))
        else:
            whole = compute(nodes.everything())
            vector = np.zeros(nodes.capacity, dtype=whole.dtype)
            vector[: len(whole)] = whole
        self._known[key] = (position, vector)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return vector

    def clear(self) -> None:
        self._known.clear()
