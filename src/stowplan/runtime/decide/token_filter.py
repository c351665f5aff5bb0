"""A filter of cluster scope whose token shows whether answers for unchanged nodes may differ."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from stowplan.cache.nodes import NodeTable
from stowplan.framework import CycleState, Mask, Nodes, Pod, PodTemplate
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.filtering import passes_filter, passing_nodes


class TokenFilter:
    """A filter of cluster scope, with its answers for the pods of one template."""

    __slots__ = ("_changes", "_cycles", "check", "ok", "plugin", "token")

    def __init__(self, plugin: InTreePlugin, template: PodTemplate) -> None:
        self.plugin = plugin
        self.check = plugin.slot_filter(template)
        self.token: Hashable = None
        self.ok: Mask = np.zeros(0, dtype=np.bool_)
        self._cycles = 0
        self._changes = 0

    @property
    def restless(self) -> bool:
        """Whether the token changes in most cycles, so that keeping answers does not pay."""
        return self._changes > 8 and self._changes * 2 > self._cycles

    def forget(self) -> None:
        """Make the next `refresh` filter all nodes."""
        self.ok = self.ok[:0]

    def refresh(self, state: CycleState, pod: Pod, nodes: Nodes, size: int) -> bool:
        """Filter all nodes again if the token changed; returns whether it did."""
        skipped = self.plugin.name in state.skip_filter
        token = None if skipped else self.plugin.filter_token(pod)
        self._cycles += 1
        if token == self.token and len(self.ok) == size:
            return False
        self._changes += token != self.token
        self.token = token
        self.ok = np.zeros(size, dtype=np.bool_)
        self.ok[nodes.index] = True if skipped else passing_nodes(self.plugin, state, pod, nodes)
        return True

    def update(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Filter some nodes again."""
        skipped = self.plugin.name in state.skip_filter
        self.ok[nodes.index] = True if skipped else passing_nodes(self.plugin, state, pod, nodes)

    def holds(self, pod: Pod) -> bool:
        """Whether the token of the answers is still valid."""
        self._cycles += 1
        return self.plugin.filter_token(pod) == self.token

    def update_one(self, state: CycleState, pod: Pod, nodes: NodeTable, slot: int) -> bool:
        if self.check is not None:
            passes = self.check(slot) is None
        else:
            info = nodes.infos[slot]
            assert info is not None
            passes = self.plugin.name in state.skip_filter or passes_filter(self.plugin, state, pod, info)
        self.ok[slot] = passes
        return passes
