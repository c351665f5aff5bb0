"""The parts that a plan is made of, each around one plugin."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import CycleState, Mask, NodeInfo, Nodes, Pod, PodTemplate, Status
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.filtering import passing_nodes
from stowplan.runtime.decide.normalize import NORMALIZERS, Raw
from stowplan.runtime.points.cycle_error import failed_at

Ints = NDArray[np.int64]
Ranks = NDArray[np.signedinteger[Any]]
"""What nodes are ranked by: int32 where the weights allow it, which halves the memory of a plan."""


class Weighted(NamedTuple):
    """A score plugin and its weight."""

    plugin: InTreePlugin
    weight: int


class Normalized:
    """A node-scoped plugin whose scores are normalised over the feasible nodes."""

    __slots__ = ("least", "most", "plugin", "raw", "weight")

    def __init__(self, plugin: InTreePlugin, weight: int, raw: Raw) -> None:
        self.plugin = plugin
        self.weight = weight
        self.raw = raw
        self.least: float = 0
        self.most: float = 0

    def spread(self, feasible: Mask) -> Ints:
        """Weighted scores of all nodes, normalised over these."""
        raw = self.raw[feasible]
        if len(raw):
            self.least, self.most = raw.min(), raw.max()
        return self.over(self.raw, self.least, self.most)

    def over(self, raw: Raw, least: float, most: float) -> Ints:
        """Weighted scores where these are the extremes."""
        assert self.plugin.normalize is not None
        return self.weight * NORMALIZERS[self.plugin.normalize](raw, least, most)

    def moved_by(self, slots: NDArray[np.intp], joins: Mask) -> bool:
        """Whether the normalisation may change when these nodes join or leave the feasible ones."""
        values = self.raw[slots]
        inside = (values > self.least) & (values < self.most)
        return bool((~inside & (~joins | (values < self.least) | (values > self.most))).any())


class TokenFilter:
    """A filter of cluster scope that says when its answers may have changed elsewhere than on changed nodes."""

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
        """Whether the token changes in most cycles, so that remembering answers is wasted effort."""
        return self._changes > 8 and self._changes * 2 > self._cycles

    def forget(self) -> None:
        """The next `refresh` asks about all nodes, whatever the token says."""
        self.ok = self.ok[:0]

    def refresh(self, state: CycleState, pod: Pod, nodes: Nodes, size: int) -> bool:
        """Ask about all nodes again if the token changed; whether it did."""
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
        """Ask about some nodes again."""
        skipped = self.plugin.name in state.skip_filter
        self.ok[nodes.index] = True if skipped else passing_nodes(self.plugin, state, pod, nodes)

    def holds(self, pod: Pod) -> bool:
        """Whether the token is the one that the answers were given for."""
        self._cycles += 1
        return self.plugin.filter_token(pod) == self.token

    def update_one(self, state: CycleState, pod: Pod, info: NodeInfo) -> bool:
        if self.check is not None:
            passes = self.check(info.slot) is None
            self.ok[info.slot] = passes
            return passes
        passes = self.plugin.name in state.skip_filter or passes_filter(self.plugin, state, pod, info)
        self.ok[info.slot] = passes
        return passes


def passes_filter(plugin: InTreePlugin, state: CycleState, pod: Pod, info: NodeInfo) -> bool:
    """One plugin on one node; an error ends the cycle."""
    status = plugin.filter(state, pod, info)
    if status is None or not status.code:
        return True
    if not status.rejected:
        raise failed_at("filter", plugin.name, status.message)
    return False


def score_of(plugin: InTreePlugin, state: CycleState, pod: Pod, info: NodeInfo) -> int:
    """One plugin's score of one node; an error ends the cycle."""
    score = plugin.score(state, pod, info)
    if isinstance(score, Status):
        raise failed_at("score", plugin.name, score.message)
    return int(score)
