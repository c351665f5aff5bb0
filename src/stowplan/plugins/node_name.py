"""NodeName: a pod with spec.nodeName runs on that node only.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.api.near_names import near_names
from stowplan.plugins.base import InTreePlugin

NAME = "NodeName"
OTHER_NODE = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name", plugin=NAME
)
_EFFORT = 3.0
_MAX_NEAR = 3


class NodeName(InTreePlugin):
    """The requested name belongs to the pod and not to its template, hence cluster scope."""

    name = NAME
    scope = "cluster"
    reads_cache = True

    def idle_filter(self, pod: fwk.Pod) -> bool:
        """Pending pods with a node name are decided without a plan."""
        return not pod.node_name

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        return OTHER_NODE if pod.node_name and pod.node_name != node.name else None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        if pod.node_name:
            others = np.ones(self.nodes.capacity, dtype=np.bool_)
            slot = self.nodes.slot_of.get(pod.node_name)
            if slot is not None:
                others[slot] = False
            yield others[nodes.index], OTHER_NODE

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        name = pod.node_name
        exists = name in self.nodes.slot_of
        near = [] if exists else near_names(name, self.nodes.slot_of)[:_MAX_NEAR]
        also = "" if exists else ", and there is no such node"
        also += f"; near names: {', '.join(near)}" if near else ""
        change = fwk.Change(
            kind="selector",
            on="pod",
            text="no spec.nodeName",
            effort=_EFFORT,
            patch=(fwk.PatchOperation("remove", "/spec/nodeName"),),
        )
        yield fwk.Refusal(
            id="node.name",
            text=f"the pod names node {name} (spec.nodeName){also}",
            wanted=f"node {name}",
            there=f"node {node.name}",
            lasting=True,
            facts={"name": name, "exists": exists} | ({"near": near} if near else {}),
            changes=(change,),
        )

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        return fwk.Requirement(f"node {pod.node_name}", f"node {node.name}") if pod.node_name else None

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Node, fwk.Action.Add),)
