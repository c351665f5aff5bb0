"""Answers that depend on the node object alone, shared by all templates that look alike to the plugin."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.framework import Nodes

Compute = Callable[[Nodes], NDArray[Any]]

_KEPT = 512


class StaticAnswers:
    """Vectors by (plugin, what it reads of the template), brought up to date for the nodes that changed.

    A vector is kept from the second time on that it is asked for: what a single template reads is not worth the memory.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: OrderedDict[Hashable, tuple[int, NDArray[Any]]] = OrderedDict()
        self._asked: OrderedDict[Hashable, None] = OrderedDict()

    def get(self, key: Hashable, compute: Compute) -> NDArray[Any]:
        """The plugin's vector over all slots in use. Never written to by callers."""
        nodes = self._nodes
        position = nodes.node_log.position
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            if known[0] == position:
                return known[1]
        vector = self._compute(known, compute)
        if known is not None or key in self._asked:
            self._known[key] = (position, vector)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        else:
            self._asked[key] = None
            if len(self._asked) > _KEPT:
                self._asked.popitem(last=False)
        return vector

    def _compute(self, known: tuple[int, NDArray[Any]] | None, compute: Compute) -> NDArray[Any]:
        nodes = self._nodes
        if known is None or len(known[1]) != nodes.high:
            return compute(nodes.everything())
        changed = nodes.node_log.changed_since(known[0])
        vector = known[1].copy()
        vector[changed] = compute(nodes.subset(changed))
        return vector

    def clear(self) -> None:
        self._known.clear()
        self._asked.clear()
