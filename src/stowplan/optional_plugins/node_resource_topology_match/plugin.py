"""The plugin: Filter rejects nodes whose kubelet would reject the pod, Score prefers the best zones.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/plugin.go
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stowplan import framework as fwk
from stowplan.api.amounts import listed
from stowplan.api.kinds import KINDS
from stowplan.config.args.optional import LEAST_NUMA_NODES, NodeResourceTopologyMatchArgs
from stowplan.optional_plugins.base.qos_class import QosClass
from stowplan.optional_plugins.node_resource_topology_match.alignment import (
    CANNOT_ALIGN_CONTAINER,
    CANNOT_ALIGN_INIT_CONTAINER,
    CANNOT_ALIGN_POD,
    CANNOT_ALIGN_SIDECAR,
    misalignment,
    needs_of,
)
from stowplan.optional_plugins.node_resource_topology_match.cache import make_cache
from stowplan.optional_plugins.node_resource_topology_match.scoring import (
    MAX_SCORE,
    balanced_allocation,
    least_allocated,
    least_numa_score,
    most_allocated,
    zone_score,
)
from stowplan.plugins.base import InTreePlugin

NAME = "NodeResourceTopologyMatch"
NOT_FRESH = fwk.Status(fwk.Code.Unschedulable, "invalid node topology data", plugin=NAME)
MISALIGNED = {
    text: fwk.Status(fwk.Code.Unschedulable, text, plugin=NAME)
    for text in (CANNOT_ALIGN_POD, CANNOT_ALIGN_CONTAINER, CANNOT_ALIGN_INIT_CONTAINER, CANNOT_ALIGN_SIDECAR)
}
_FORMULAS = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
    "BalancedAllocation": balanced_allocation,
}
_MAX_EXPLAINED_ZONES = 4


class NodeResourceTopologyMatch(InTreePlugin):
    """Answers depend on the node, its pods and its report; a new report is noted as a change of the node."""

    name = NAME
    scope = "node+pods"
    reads = ("NodeResourceTopology",)
    reserves_by_default = False
    args: NodeResourceTopologyMatchArgs

    def __init__(self, args: NodeResourceTopologyMatchArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._cache = make_cache(self.cluster, args, handle.profile_name)
        self._weights = {resource.name: resource.weight for resource in args.scoring_strategy.resources}

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        needs = needs_of(pod.template)
        if needs.is_indifferent:
            return None
        topology, is_fresh = self._cache.view(node)
        if not is_fresh:
            return NOT_FRESH
        if topology is None or not topology.is_strict:
            return None
        problem = misalignment(needs, topology, node.allocatable)
        return MISALIGNED[problem] if problem else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterable[tuple[fwk.Mask, fwk.Status]]:
        rejected: dict[fwk.Status, fwk.Mask] = {}
        if needs_of(pod.template).is_indifferent:
            return ()
        for position, info in nodes.infos():
            status = self.filter(state, pod, info)
            if status is not None:
                mask = rejected.setdefault(status, np.zeros(len(nodes), dtype=np.bool_))
                mask[position] = True
        return [(mask, status) for status, mask in rejected.items()]

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        needs = needs_of(pod.template)
        if needs.qos != QosClass.Guaranteed:
            return MAX_SCORE
        topology, is_fresh = self._cache.view(node)
        if not is_fresh or topology is None:
            return 0
        strategy = self.args.scoring_strategy.type
        if strategy == LEAST_NUMA_NODES:
            return least_numa_score(needs, topology)
        return zone_score(needs, topology, _FORMULAS[strategy], self._weights) if topology.is_strict else 0

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        scores: fwk.Scores = np.full(len(nodes), MAX_SCORE, dtype=np.int64)
        if needs_of(pod.template).qos == QosClass.Guaranteed:
            for position, info in nodes.infos():
                scores[position] = self.score(state, pod, info)
        return scores

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        """Nothing to prepare. Implemented since configurations enable it."""

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        self._cache.reserve(pod, node_name)
        return None

    def unreserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        self._cache.unreserve(pod, node_name)

    def post_bind(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        self._cache.bound(pod, node_name)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeAllocatable),
            fwk.on(KINDS["NodeResourceTopology"].event_resource, fwk.Action.Add | fwk.Action.Update),
        )

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterable[fwk.Refusal]:
        topology, is_fresh = self._cache.view(node)
        if not is_fresh or topology is None:
            yield fwk.Refusal(id="numa.stale", text="has pods that its NodeResourceTopology does not include yet")
            return
        needs = needs_of(pod.template)
        zones = [f"node-{zone.id} {listed(dict(zone.available)) or 'nothing'}" for zone in topology.zones]
        shown = "; ".join(zones[:_MAX_EXPLAINED_ZONES]) or "none"
        scope = "all containers" if topology.scope == "pod" else "each container"
        text = f"needs {listed(dict(needs.total))} with {scope} in one NUMA zone; zones have {shown}"
        yield fwk.Refusal(id="numa.misaligned", text=text)
