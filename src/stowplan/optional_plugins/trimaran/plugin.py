"""The base of the plugins that score nodes by measured load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from stowplan import framework as fwk
from stowplan.api.quantity import milli_value, value
from stowplan.cache.columns import Floats
from stowplan.cache.nodes import NodeTable
from stowplan.config.args.trimaran import TrimaranArgs
from stowplan.optional_plugins.base.kept_numbers import KeptNumbers
from stowplan.optional_plugins.trimaran.collector import LoadCollector
from stowplan.optional_plugins.trimaran.load import LoadSnapshot, NodeLoad
from stowplan.optional_plugins.trimaran.sources import LoadSource
from stowplan.plugins.base import InTreePlugin


class LoadScorePlugin(InTreePlugin):
    """Scores by facts about a node that are kept until the node or the metrics change, and by the pod.

    A subclass defines the facts of one node and the formula over many. A node without metrics gets 0.
    """

    fact_count: ClassVar[int]
    follows_pods: ClassVar[bool] = False
    """Whether the facts depend on the pods of the node."""
    args: TrimaranArgs

    def __init__(self, args: Any, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self.collector = self._shared_collector(args)
        self._snapshot: LoadSnapshot | None = None
        self._facts = KeptNumbers(self.nodes, self._facts_of, self.fact_count, follows_pods=self.follows_pods)

    def facts(self, node: fwk.NodeInfo, load: NodeLoad, snapshot: LoadSnapshot) -> Sequence[float] | None:
        """The facts of a node; None if it gets 0. The first one is NaN for no other node."""
        raise NotImplementedError

    def scores(self, template: fwk.PodTemplate, facts: Floats) -> Floats:
        """The scores from the facts, one row for each, before rounding."""
        raise NotImplementedError

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        if not self._refresh():
            return 0
        return int(self._scored(pod.template, np.array(self._facts_of(node)).reshape(-1, 1))[0])

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        if not self._refresh():
            return fwk.no_scores(len(nodes))
        return self._scored(pod.template, self._facts.of(nodes))

    def load_of(self, node: fwk.NodeInfo) -> NodeLoad | None:
        """The measured load of a node."""
        return None if not self._refresh() or self._snapshot is None else self._snapshot.nodes.get(node.name)

    def _scored(self, template: fwk.PodTemplate, facts: Floats) -> fwk.Scores:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scores = go_round(self.scores(template, facts))
        return np.where(np.isnan(facts[0]), 0, scores).astype(np.int64)

    def _refresh(self) -> bool:
        """Take over new metrics; False without any."""
        snapshot = self.collector.latest(self.handle.now)
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._facts.discard()
        return snapshot is not None

    def _facts_of(self, node: fwk.NodeInfo) -> Sequence[float]:
        assert self._snapshot is not None
        load = self._snapshot.nodes.get(node.name)
        facts = None if load is None else self.facts(node, load, self._snapshot)
        return (np.nan,) * self.fact_count if facts is None else facts

    def _shared_collector(self, args: TrimaranArgs) -> LoadCollector:
        """The collector of all plugins of the cluster that read the same source."""
        known: dict[Any, LoadCollector] = self.nodes.derive(_collectors)
        key = (args.watcher_address, args.metric_provider, args.max_metrics_age_seconds)
        if key not in known:
            connection = self.handle.connection
            known[key] = LoadCollector(
                LoadSource(args, connection, _capacities_of(self.nodes)),
                live=connection is not None,
                max_age_seconds=args.max_metrics_age_seconds,
                knows=self.nodes.slot_of.__contains__,
            )
        return known[key]


def go_round(values: Floats) -> Floats:
    """Rounded half up, as Go's math.Round does for numbers that are not negative."""
    whole = np.floor(values)
    rounded: Floats = whole + (values - whole >= 0.5)
    return rounded


def _collectors(nodes: NodeTable) -> dict[Any, LoadCollector]:
    return {}


def _capacities_of(nodes: NodeTable) -> Callable[[], Mapping[str, tuple[int, int]]]:
    def capacities() -> dict[str, tuple[int, int]]:
        found = {}
        for info in list(nodes.infos):
            if info is not None:
                capacity = info.node.status.capacity
                found[info.name] = (milli_value(capacity.get("cpu", 0)), value(capacity.get("memory", 0)))
        return found

    return capacities
