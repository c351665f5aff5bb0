"""NodeName: a pod that names a node goes there or nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stowplan.framework import (
    Action,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Mask,
    NodeInfo,
    Nodes,
    Pod,
    Status,
    on,
)
from stowplan.plugins.base import InTreePlugin

NAME = "NodeName"
OTHER_NODE = Status(Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name", plugin=NAME)


class NodeName(InTreePlugin):
    """The requested name is each pod's own and no part of its template, hence cluster scope."""

    name = NAME
    scope = "cluster"

    def idle_filter(self, pod: Pod) -> bool:
        """Pods that name a node while they are pending are judged without a plan."""
        return not pod.node_name

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return OTHER_NODE if pod.node_name and pod.node_name != node.name else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        if pod.node_name:
            others = np.ones(self.nodes.capacity, dtype=np.bool_)
            slot = self.nodes.slot_of.get(pod.node_name)
            if slot is not None:
                others[slot] = False
            yield others[nodes.index], OTHER_NODE

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return (on(EventResource.Node, Action.Add),)
