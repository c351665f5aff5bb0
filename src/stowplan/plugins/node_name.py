"""NodeName: a pod with spec.nodeName runs on that node only.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.plugins.base import InTreePlugin

NAME = "NodeName"
OTHER_NODE = fwk.Status(
    fwk.Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name", plugin=NAME
)


class NodeName(InTreePlugin):
    """The requested name belongs to the pod and not to its template, hence cluster scope."""

    name = NAME
    scope = "cluster"

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

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (fwk.on(fwk.EventResource.Node, fwk.Action.Add),)
