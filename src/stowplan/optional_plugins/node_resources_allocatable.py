"""NodeResourcesAllocatable: prefers small or large nodes, by their allocatable amounts.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesources/allocatable.go
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from stowplan import framework as fwk
from stowplan.api.amounts import in_words
from stowplan.api.quantity import MAX_INT64
from stowplan.cache.columns import Column
from stowplan.config.args.optional import MOST, NodeResourcesAllocatableArgs
from stowplan.optional_plugins.base.min_max_score import MinMaxScore


class NodeResourcesAllocatable(MinMaxScore):
    """Raw score: the weighted mean of allocatable amounts, negated in mode Least. The pod does not matter."""

    name = "NodeResourcesAllocatable"
    scope = "node"
    args: NodeResourcesAllocatableArgs

    def __init__(self, args: NodeResourcesAllocatableArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._weights = [(resource.name, resource.weight) for resource in args.resources]
        self._weight_sum = sum(weight for _, weight in self._weights)
        self._sign = 1 if args.mode == MOST else -1

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return ()

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        total = sum(column.values[node.slot] * weight for column, weight in self._columns())
        return self._sign * (total // self._weight_sum)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        total: fwk.Scores = np.zeros(len(nodes), dtype=np.int64)
        if sum(column.widest * weight for column, weight in self._columns()) > MAX_INT64:
            for position, info in nodes.infos():
                total[position] = self.score(state, pod, info)
            return total
        for column, weight in self._columns():
            total += nodes.read(column.array).astype(np.int64) * weight
        return self._sign * (total // self._weight_sum)

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        return "allocatable " + ", ".join(in_words(name, node.allocatable.get(name, 0)) for name, _ in self._weights)

    def _columns(self) -> list[tuple[Column, int]]:
        """The columns of the resources that any node has, with weights."""
        columns = self.nodes.allocatable
        return [(columns[name], weight) for name, weight in self._weights if name in columns]
