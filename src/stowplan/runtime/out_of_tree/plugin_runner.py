"""Runs out-of-tree plugins on nodes that the caller names, with a status for each node; used by the extender.

Answers of plugins with a scope other than "cluster" are kept by slot and computed again only for nodes that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import Cluster, NodeTable
from stowplan.cache.kept import KeptOnDemand
from stowplan.cache.lru_map import LruMap
from stowplan.framework import CycleState, Plugin, Pod, Slots, Status, implements
from stowplan.framework.points import implements_point
from stowplan.framework.reservations import Reservations
from stowplan.framework.status import merge_rejections
from stowplan.runtime.decide.filtering import PreFiltered, run_pre_filters
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.decide.scoring import PluginScores, normalize, run_pre_scores
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin, serve_plugins
from stowplan.runtime.points.cycle_error import failed_at

Pause = Callable[[], None]
"""Called after each call of a plugin, before its answer is used; may raise to give up. The runner may then be used
again while the plugin still runs: the plugin's late answer is dropped."""

PASSES = -1

_FIRST_CHUNK_NODES, _FAST_CHUNK_SECONDS = 64, 0.002
"""The number of nodes before the first pause; four times as many after it, if they took less than the time (in
seconds)."""
_MAX_STATUSES = 10_000
_MAX_KEPT_VECTORS = 256
"""Kept answers, by plugin and by the part of the pod template that the plugin reads."""


class NodeVerdicts(NamedTuple):
    """The result for each node, by position: PASSES, or the index of its rejection in `statuses`."""

    codes: NDArray[np.int32]
    statuses: list[Status]


class PluginRunner:
    """Out-of-tree plugins bound to a cluster. The caller chooses the plugins for each pod."""

    def __init__(self, cluster: Cluster, plugins: Sequence[Plugin]) -> None:
        serve_plugins(cluster, plugins)
        self._nodes = cluster.nodes
        self.plugins = tuple(OutOfTreePlugin(plugin, self._forget) for plugin in plugins)
        for plugin in self.plugins:
            if any(isinstance(value, Reservations) for value in vars(plugin.inner).values()):
                plugin.forget_scope()  # Reservations of pods that are not on a node yet are in no change log.
        self._verdicts = _KeptAnswers(self._nodes, np.int32)
        self._scores = _KeptAnswers(self._nodes, np.float64)
        self._index: dict[Status, int] = {}
        self._statuses: list[Status] = []
        self.seconds: dict[str, float] = {}
        """Time that each plugin took; summed up until the caller clears it."""

    def pre_filter(self, plugins: Iterable[OutOfTreePlugin], state: CycleState, pod: Pod, slots: Slots) -> PreFiltered:
        chosen = [plugin for plugin in plugins if implements(type(plugin.inner), "pre_filter")]
        return run_pre_filters(self._timed(chosen), state, pod, self._nodes.subset(slots))

    def filter(
        self, plugins: Iterable[OutOfTreePlugin], state: CycleState, pod: Pod, slots: Slots, pause: Pause
    ) -> NodeVerdicts:
        """Runs each plugin on the nodes that the plugins before it let pass. An error ends the whole."""
        pause()
        if len(self._statuses) > _MAX_STATUSES:
            self._forget()
        codes = np.full(len(slots), PASSES, dtype=np.int32)
        chosen = [p for p in plugins if implements_point(type(p.inner), "filter") and p.name not in state.skip_filter]
        for plugin in self._timed(chosen):
            open_ = np.flatnonzero(codes == PASSES)
            if len(open_):
                codes[open_] = self._filter(plugin, state, pod, slots[open_], pause)
        return NodeVerdicts(codes, self._statuses)

    def score(
        self, plugins: Iterable[tuple[OutOfTreePlugin, int]], state: CycleState, pod: Pod, slots: Slots, pause: Pause
    ) -> list[PluginScores]:
        """The scores of these nodes by each plugin, normalised among them, with the plugin's weight."""
        weights = {plugin.name: weight for plugin, weight in plugins}
        chosen = [plugin for plugin in self.plugins if plugin.name in weights]
        nodes = self._nodes.subset(slots)
        run_pre_scores(self._timed([plugin for plugin in chosen if plugin.has_pre_score]), state, pod, nodes)
        pause()
        scores = []
        for plugin in self._timed([p for p in chosen if implements_point(type(p.inner), "score")]):
            if plugin.name not in state.skip_score:
                raw = self._score(plugin, state, pod, slots, pause)
                normalized = normalize(plugin, state, pod, raw, nodes)
                scores.append(PluginScores(plugin.name, weights[plugin.name], raw, normalized))
        return scores

    def _timed(self, plugins: Iterable[OutOfTreePlugin]) -> Iterator[OutOfTreePlugin]:
        """Yields the plugins one by one and measures the time until the next one is requested."""
        for plugin in plugins:
            begun_at = perf_counter()
            try:
                yield plugin
            finally:
                self.seconds[plugin.name] = self.seconds.get(plugin.name, 0.0) + perf_counter() - begun_at

    def _filter(self, plugin: OutOfTreePlugin, state: CycleState, pod: Pod, slots: Slots, pause: Pause) -> NDArray[Any]:
        kept = self._verdicts.of(plugin, plugin.signature(pod.template))
        if kept is not None:
            for part in _chunks(kept.unknown(slots), plugin.has_filter_nodes):
                kept.put(part, self._filter_part(plugin, state, pod, part, pause))
            if plugin.scope != "cluster":
                return kept.values[slots]
            # The plugin read a field of this pod only, so the kept answers are not valid.
        codes = np.full(len(slots), PASSES, dtype=np.int32)
        for part in _chunks(np.arange(len(slots)), plugin.has_filter_nodes):
            codes[part] = self._filter_part(plugin, state, pod, slots[part], pause)
        return codes

    def _filter_part(
        self, plugin: OutOfTreePlugin, state: CycleState, pod: Pod, slots: Slots, pause: Pause
    ) -> NDArray[np.int32]:
        answers = list(plugin.filter_nodes(state, pod, self._nodes.subset(slots)))
        pause()
        codes = np.full(len(slots), PASSES, dtype=np.int32)
        for mask, status in answers:
            if not mask.any():
                continue
            if not status.rejected:
                raise failed_at("filter", plugin.name, status.message)
            status = status.with_plugin(plugin.name)
            for known in np.unique(codes[mask]).tolist():
                rejections = [status] if known == PASSES else [self._statuses[known], status]
                codes[mask & (codes == known)] = self.number(merge_rejections(rejections))
        return codes

    def number(self, status: Status) -> int:
        """The index of the status in results made since the last call of `filter`."""
        number = self._index.get(status)
        if number is None:
            number = self._index[status] = len(self._statuses)
            self._statuses.append(status)
        return number

    def _score(self, plugin: OutOfTreePlugin, state: CycleState, pod: Pod, slots: Slots, pause: Pause) -> Raw:
        # PreScore depends on the feasible nodes, so scores based on it are not kept.
        kept = None if plugin.has_pre_score else self._scores.of(plugin, plugin.signature(pod.template))
        if kept is not None:
            for part in _chunks(kept.unknown(slots), plugin.has_score_nodes):
                scores = plugin.score_nodes(state, pod, self._nodes.subset(part))
                pause()
                kept.put(part, scores)
            if plugin.scope != "cluster":
                return kept.values[slots].astype(plugin.raw_type)
        raw: Raw = np.zeros(len(slots), dtype=plugin.raw_type)
        for part in _chunks(np.arange(len(slots)), plugin.has_score_nodes):
            pause()
            raw[part] = plugin.score_nodes(state, pod, self._nodes.subset(slots[part]))
        return raw

    def _forget(self) -> None:
        """Drops all kept answers. Lists that were returned before stay valid."""
        self._verdicts.clear()
        self._scores.clear()
        self._index = {}
        self._statuses = []


class _KeptVector(KeptOnDemand):
    """One value of one plugin for each slot."""

    __slots__ = ("_dtype", "values")

    def __init__(self, nodes: NodeTable, plugin: Plugin, dtype: type[np.generic]) -> None:
        super().__init__(nodes, follows_pods=plugin.scope != "node")
        self._dtype = dtype
        self.values: NDArray[Any] = np.zeros(0, dtype=dtype)

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        self.values = np.zeros(self.nodes.capacity, dtype=self._dtype)

    def put(self, slots: Slots, values: NDArray[Any]) -> None:
        self.values[slots] = values
        self.settle(slots)


class _KeptAnswers:
    """Vectors by plugin and by the part of the pod template that the plugin reads."""

    def __init__(self, nodes: NodeTable, dtype: type[np.generic]) -> None:
        self._nodes = nodes
        self._dtype = dtype
        self._vectors: LruMap[Hashable, _KeptVector] = LruMap(_MAX_KEPT_VECTORS)
        self.clear = self._vectors.clear

    def of(self, plugin: Plugin, signature: Hashable) -> _KeptVector | None:
        """The up-to-date vector; None for a plugin of scope "cluster"."""
        if plugin.scope == "cluster":
            return None
        make = partial(_KeptVector, self._nodes, plugin, self._dtype)
        kept = self._vectors.get_or_make((plugin.name, signature), make)
        kept.refresh(None)
        return kept


def _chunks(slots: Slots, at_once: bool) -> Iterator[Slots]:
    """The slots in parts: all at once for a plugin that handles many nodes in one call."""
    step, start = max(1, len(slots)) if at_once else _FIRST_CHUNK_NODES, 0
    while start < len(slots):
        begun_at = perf_counter()
        yield slots[start : start + step]
        start += step
        if perf_counter() - begun_at < _FAST_CHUNK_SECONDS:
            step *= 4
