"""Answers that depend on node objects alone, shared by templates with equal signatures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.lru_map import LruMap
from stowplan.framework import CycleState, Mask, Nodes, Pod, PodTemplate, Scores, Slots
from stowplan.plugins.base import InTreePlugin
from stowplan.runtime.decide.filtering import passing_nodes
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.decide.scoring import Weighted, score_passing
from stowplan.runtime.decide.ties import TIE_BITS, Ranks

Compute = Callable[[Nodes], NDArray[Any]]

_MAX_KEPT_VECTORS = 512


class _NodeVector(KeptBySlot[Compute]):
    """One plugin's answers about all nodes, by slot in use. Repaired in a copy, since views read the old one."""

    __slots__ = ("values",)

    def __init__(self, nodes: NodeTable) -> None:
        super().__init__(nodes, follows_pods=False)
        self.values: NDArray[Any] = np.zeros(0)

    def rebuild(self, compute: Compute) -> None:
        self.values = compute(self.nodes.everything())

    def repair_many(self, slots: Slots, compute: Compute) -> None:
        if len(self.values) != self.nodes.high:
            self.rebuild(compute)
            return
        values = self.values.copy()
        values[slots] = compute(self.nodes.subset(slots))
        self.values = values


class RawScores(NamedTuple):
    """A plugin's raw scores of all nodes, to be normalised over the feasible ones."""

    plugin: InTreePlugin
    weight: int
    raw: Raw


class NodePlugins:
    """Plugins of node scope whose answers are taken together."""

    __slots__ = ("_identity", "_names", "filters", "normalized", "plugins", "scorers")

    def __init__(
        self, filters: Iterable[InTreePlugin], scorers: Iterable[Weighted], normalized: Iterable[Weighted]
    ) -> None:
        self.filters = tuple(filters)
        self.scorers = tuple(scorers)
        self.normalized = tuple(normalized)
        """Plugins whose scores are normalised over the feasible nodes by a predefined normaliser."""
        scoring = [plugin for plugin, _ in (*self.scorers, *self.normalized)]
        self.plugins = tuple(dict.fromkeys((*self.filters, *scoring)))
        self._names = frozenset(plugin.name for plugin in self.plugins)
        self._identity = (*self.filters, len(self.scorers), *scoring)

    def key(self, template: PodTemplate) -> Hashable:
        """The key of shared answers: the plugins, and their signatures of the template."""
        return (*self._identity, *[plugin.signature(template) for plugin in self.plugins])

    def without(self, unfiltered: AbstractSet[str], unscored: AbstractSet[str]) -> NodePlugins:
        """The same without the filters and scorers of these names."""
        if self._names.isdisjoint(unfiltered) and self._names.isdisjoint(unscored):
            return self
        return NodePlugins(
            [plugin for plugin in self.filters if plugin.name not in unfiltered],
            [scorer for scorer in self.scorers if scorer.plugin.name not in unscored],
            [scorer for scorer in self.normalized if scorer.plugin.name not in unscored],
        )


class NodeView:
    """The answers of plugins of node scope for pods of a template, by slot; read-only."""

    __slots__ = ("_ranks", "_slots", "normalized", "ok", "open", "score")

    def __init__(self, ok: Mask, score: Scores | None, normalized: list[RawScores]) -> None:
        self.ok = ok
        """The nodes that pass."""
        self.open = int(np.count_nonzero(ok))
        """The number of nodes that pass."""
        self.score = score
        """The weighted sum of the scores without normalisation; None for zero."""
        self.normalized = normalized
        """The other scores, if they differ between nodes."""
        self._slots: Slots | None = None
        self._ranks: Ranks | None = None

    @property
    def slots(self) -> Slots:
        """The slots of nodes that pass."""
        if self._slots is None:
            self._slots = np.flatnonzero(self.ok)
        return self._slots

    def ranks(self, noise: Scores, kind: type[np.signedinteger[Any]]) -> Ranks:
        """The part of ranks that depends on node objects alone: the scores and 1, which makes ranks of feasible nodes
        positive, with the noise of ties."""
        if self._ranks is None:
            scores: Scores = np.ones(len(self.ok), dtype=np.int64)
            if self.score is not None:
                scores += self.score
            scores <<= TIE_BITS
            scores += noise[: len(scores)]
            self._ranks = scores.astype(kind)
        return self._ranks


class SharedNodeAnswers:
    """Vectors by (plugin, what it reads of the template), and views by plugins and what they read, from the second use
    on: what a single template reads is not worth the memory."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._vectors: LruMap[Hashable, _NodeVector] = LruMap(_MAX_KEPT_VECTORS)
        self._views: LruMap[Hashable, tuple[int, NodeView]] = LruMap(_MAX_KEPT_VECTORS)

    def get(self, template: PodTemplate, key: Hashable, compute: Compute) -> NDArray[Any]:
        """The plugin's vector over all slots in use. Never written to by callers."""
        vector = self._vectors.get(key)
        if vector is None:
            if template.large or not self._vectors.used_before(key):
                return compute(self._nodes.everything())
            vector = _NodeVector(self._nodes)
            self._vectors.put(key, vector)
        vector.refresh(compute)
        return vector.values

    def view(self, plugins: NodePlugins, state: CycleState, pod: Pod) -> NodeView:
        """The answers of these plugins of node scope together."""
        view = self.known_view(plugins, state, pod)
        return self._make_view(plugins, state, pod) if view is None else view

    def known_view(self, plugins: NodePlugins, state: CycleState, pod: Pod) -> NodeView | None:
        """The same; None the first time, when it is not known whether the answer will be of use again."""
        if pod.template.large:
            return None
        key, version = plugins.key(pod.template), self._nodes.version
        known = self._views.get(key)
        if known is None and not self._views.used_before(key):
            return None
        if known is None or known[0] != version:
            known = (version, self._make_view(plugins, state, pod))
            self._views.put(key, known)
        return known[1]

    def clear(self) -> None:
        self._vectors.clear()
        self._views.clear()

    def _make_view(self, plugins: NodePlugins, state: CycleState, pod: Pod) -> NodeView:
        alive = self._nodes.alive[: self._nodes.high]
        ok = alive.copy()
        for plugin in plugins.filters:
            key = (plugin, "filter", plugin.signature(pod.template))
            ok &= self.get(pod.template, key, partial(passing_nodes, plugin, state, pod))
        score: Scores | None = None
        for plugin, weight in plugins.scorers:
            weighted = weight * self._scores(plugins, plugin, state, pod, ok)
            score = weighted if score is None else score + weighted
        differing = []
        everyone = self._nodes.everything().holes is None
        for plugin, weight in plugins.normalized:
            raw = self._scores(plugins, plugin, state, pod, ok)
            meant = raw if everyone else raw[alive]
            if len(meant) and meant.min() != meant.max():
                differing.append(RawScores(plugin, weight, raw))
        return NodeView(ok, score, differing)

    def _scores(self, plugins: NodePlugins, plugin: InTreePlugin, state: CycleState, pod: Pod, ok: Mask) -> Raw:
        if plugin.scores_infeasible_nodes:
            key: Hashable = (plugin, "score", plugin.signature(pod.template))
            return self.get(pod.template, key, partial(plugin.score_nodes, state, pod))

        def compute(nodes: Nodes) -> Raw:
            return score_passing(plugin, state, pod, nodes, ok[nodes.index])

        return self.get(pod.template, (plugin, "score", plugins.key(pod.template)), compute)
