"""Users' plugins asked about nodes that the caller names, with a reason for each, instead of about a whole cluster.

Answers of plugins that say what they depend on are kept by slot, and asked for anew only where the node has changed.
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
from stowplan.framework import Code, CycleState, Plugin, Pod, Slots, Status, implements
from stowplan.framework.points import implements_point
from stowplan.runtime.decide.filtering import PreFiltered, run_pre_filters
from stowplan.runtime.decide.normalize import Raw
from stowplan.runtime.decide.scoring import PluginScores, normalize, run_pre_scores
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.cycle_error import failed_at

Pause = Callable[[], None]
"""Called whenever a plugin has returned, before anything is made of what it said; may raise to give up. Who has given
up on a plugin may go on to use the panel while the plugin is still at work: what that says in the end is dropped.
"""

PASSES = -1

_FIRST_CHUNK, _QUICKLY = 64, 0.002
"""So many nodes are asked about before the first pause, and four times as many after it if that took no longer."""
_MOST_STATUSES = 10_000
_MAX_KEPT_QUESTIONS = 256
"""Kept answers are by plugin and by what the plugin reads of the pod template."""


class NodeVerdicts(NamedTuple):
    """What became of the nodes asked about: by position, PASSES or where in `statuses` the reason is."""

    codes: NDArray[np.int32]
    statuses: list[Status]


class PluginRunner:
    """Users' plugins bound to a cluster. Which of them are asked about a pod is the caller's choice."""

    def __init__(self, cluster: Cluster, plugins: Sequence[Plugin]) -> None:
        self._nodes = cluster.nodes
        self.plugins = tuple(OutOfTreePlugin(plugin, self._forget) for plugin in plugins)
        self._verdicts = _KeptAnswers(self._nodes, np.int32)
        self._scores = _KeptAnswers(self._nodes, np.float64)
        self._index: dict[Status, int] = {}
        self._statuses: list[Status] = []
        self.seconds: dict[str, float] = {}
        """Time that each plugin took, added up until somebody clears it."""

    def pre_filter(self, plugins: Iterable[OutOfTreePlugin], state: CycleState, pod: Pod, slots: Slots) -> PreFiltered:
        asked = [plugin for plugin in plugins if implements(type(plugin.inner), "pre_filter")]
        return run_pre_filters(self._timed(asked), state, pod, self._nodes.subset(slots))

    def filter(
        self, plugins: Iterable[OutOfTreePlugin], state: CycleState, pod: Pod, slots: Slots, pause: Pause
    ) -> NodeVerdicts:
        """Each plugin is asked about the nodes that those before it let pass. An error breaks off the whole."""
        pause()
        if len(self._statuses) > _MOST_STATUSES:
            self._forget()
        codes = np.full(len(slots), PASSES, dtype=np.int32)
        asked = [p for p in plugins if implements_point(type(p.inner), "filter") and p.name not in state.skip_filter]
        for plugin in self._timed(asked):
            open_ = np.flatnonzero(codes == PASSES)
            if len(open_):
                codes[open_] = self._judge(plugin, state, pod, slots[open_], pause)
        return NodeVerdicts(codes, self._statuses)

    def score(
        self, plugins: Iterable[tuple[OutOfTreePlugin, int]], state: CycleState, pod: Pod, slots: Slots, pause: Pause
    ) -> list[PluginScores]:
        """Scores of these nodes by each plugin, normalised among them; the number that goes with it is its weight."""
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
        """One by one: what happens until the next is asked for goes on the account of the one before."""
        for plugin in plugins:
            begun_at = perf_counter()
            try:
                yield plugin
            finally:
                self.seconds[plugin.name] = self.seconds.get(plugin.name, 0.0) + perf_counter() - begun_at

    def _judge(self, plugin: OutOfTreePlugin, state: CycleState, pod: Pod, slots: Slots, pause: Pause) -> NDArray[Any]:
        kept = self._verdicts.of(plugin, plugin.signature(pod.template))
        if kept is not None:
            for part in _chunks(kept.unknown(slots), plugin.has_filter_nodes):
                kept.put(part, self._ask(plugin, state, pod, part, pause))
            if plugin.scope != "cluster":
                return kept.values[slots]
            # It was found out, while it was asked, to answer for this pod only, so what was kept is of no use.
        codes = np.full(len(slots), PASSES, dtype=np.int32)
        for part in _chunks(np.arange(len(slots)), plugin.has_filter_nodes):
            codes[part] = self._ask(plugin, state, pod, slots[part], pause)
        return codes

    def _ask(
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
                codes[mask & (codes == known)] = self.number(status if known == PASSES else self._both(known, status))
        return codes

    def _both(self, known: int, status: Status) -> Status:
        """A plugin's two reasons against the same node."""
        first = self._statuses[known]
        hopeless = Code.UnschedulableAndUnresolvable
        code = hopeless if hopeless in (first.code, status.code) else first.code
        return Status(code, *first.reasons, *status.reasons, plugin=first.plugin)

    def number(self, status: Status) -> int:
        """What stands for the status in verdicts made since the last call of `filter`."""
        number = self._index.get(status)
        if number is None:
            number = self._index[status] = len(self._statuses)
            self._statuses.append(status)
        return number

    def _score(self, plugin: OutOfTreePlugin, state: CycleState, pod: Pod, slots: Slots, pause: Pause) -> Raw:
        # What PreScore found goes with these very nodes, so scores made from it do not outlive the request.
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
        """Nothing that was kept holds any longer. Lists that were given out stay as they are."""
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
    """Vectors by plugin and by what it reads of the pod template."""

    def __init__(self, nodes: NodeTable, dtype: type[np.generic]) -> None:
        self._nodes = nodes
        self._dtype = dtype
        self._vectors: LruMap[Hashable, _KeptVector] = LruMap(_MAX_KEPT_QUESTIONS)
        self.clear = self._vectors.clear

    def of(self, plugin: Plugin, question: Hashable) -> _KeptVector | None:
        """Up to date; None where the plugin's answers may depend on anything."""
        if plugin.scope == "cluster":
            return None
        make = partial(_KeptVector, self._nodes, plugin, self._dtype)
        kept = self._vectors.get_or_make((plugin.name, question), make)
        kept.refresh(None)
        return kept


def _chunks(slots: Slots, at_once: bool) -> Iterator[Slots]:
    """Parts to ask about at a time: all where the plugin answers for many nodes in one call."""
    step, start = max(1, len(slots)) if at_once else _FIRST_CHUNK, 0
    while start < len(slots):
        begun_at = perf_counter()
        yield slots[start : start + step]
        start += step
        if perf_counter() - begun_at < _QUICKLY:
            step *= 4
