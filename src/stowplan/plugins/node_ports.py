"""NodePorts: rejects nodes on which a host port of the pod is in use.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.cache.ports import PortTable, wanted_ports
from stowplan.plugins.base import InTreePlugin

NAME = "NodePorts"
TAKEN = fwk.Status(fwk.Code.Unschedulable, "node(s) didn't have free ports for the requested pod ports", plugin=NAME)


class NodePorts(InTreePlugin):
    """Reads the cache's table of ports in use; writes no cycle state."""

    name = NAME
    scope = "node+pods"

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return bool(wanted_ports(template))

    def signature(self, template: fwk.PodTemplate) -> Hashable:
        return wanted_ports(template)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        return None if wanted_ports(pod.template) else fwk.skip()

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        conflicts, slot = self.cluster.ports.conflicts, node.slot
        for port in wanted_ports(pod.template):
            if conflicts(port, slot):
                return TAKEN
        return None

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        taken = np.zeros(self.nodes.capacity, dtype=np.bool_)
        for port in wanted_ports(pod.template):
            taken[self.cluster.ports.conflicting_slots(port)] = True
        yield taken[nodes.index], TAKEN

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, _after_pod_deletion),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add),
        )


def _after_pod_deletion(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """Queue if the deleted pod was assigned or nominated to a node and had one of the ports."""
    if old is None or not (old.node_name or old.nominated_node_name):
        return fwk.QueueingHint.QueueSkip
    freed = PortTable()
    freed.shift(wanted_ports(old.template), 0, 1)
    helps = any(freed.conflicts(port, 0) for port in wanted_ports(pod.template))
    return fwk.QueueingHint.Queue if helps else fwk.QueueingHint.QueueSkip
