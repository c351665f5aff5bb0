"""NodePorts: rejects nodes on which a host port of the pod is in use.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from stowplan import framework as fwk
from stowplan.cache.ports import ANY_IP, HostPort, PortTable, share_a_port, wanted_ports
from stowplan.plugins.base import InTreePlugin, in_words_with_owner, leave

NAME = "NodePorts"
TAKEN = fwk.Status(fwk.Code.Unschedulable, "node(s) didn't have free ports for the requested pod ports", plugin=NAME)
_EFFORT = 4.0


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

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        for port in wanted_ports(pod.template):
            holders = [other for other in node.pods.values() if share_a_port((port,), wanted_ports(other.template))]
            if holders:
                yield self._taken(port, holders, pod)

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        ports = wanted_ports(pod.template)
        if not ports:
            return None
        taken = [_in_words(port) for port in ports if self.cluster.ports.conflicts(port, node.slot)]
        return fwk.Requirement(_listed(ports), f"{', '.join(taken)} taken" if taken else "free")

    def _taken(self, port: HostPort, holders: list[fwk.Pod], pod: fwk.Pod) -> fwk.Refusal:
        who = ", ".join(in_words_with_owner(other) for other in holders)
        changes = [leave(self.cluster, pod, holders)]
        without = _without_port(port, pod)
        changes += [] if without is None else [without]
        return fwk.Refusal(
            id="ports.taken",
            text=f"host port {_in_words(port)} is taken by {who}",
            wanted=_listed(wanted_ports(pod.template)),
            there=f"{_in_words(port)} taken by {', '.join(other.key for other in holders)}",
            rule=f"{_listed(wanted_ports(pod.template))} free",
            facts={
                "port": port.port,
                "protocol": port.protocol,
                "ip": port.ip,
                "pods": [other.key for other in holders],
            },
            changes=tuple(sorted(changes, key=lambda change: change.effort)),
        )

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


def _in_words(port: HostPort) -> str:
    """`8443/TCP`, with the address unless it is for all."""
    return f"{port.port}/{port.protocol}" + ("" if port.ip == ANY_IP else f" on {port.ip}")


def _listed(ports: tuple[HostPort, ...]) -> str:
    return f"host port{'' if len(ports) == 1 else 's'} {', '.join(map(_in_words, ports))}"


def _without_port(wanted: HostPort, pod: fwk.Pod) -> fwk.Change | None:
    """The pod without the host port; None on the host's network, where every port of the pod is one of the host."""
    if pod.spec.host_network:
        return None
    operations = []
    for kind, containers in (("initContainers", pod.spec.init_containers), ("containers", pod.spec.containers)):
        for number, container in enumerate(containers):
            for position, port in enumerate(container.ports):
                if HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_IP) == wanted:
                    path = f"/spec/{kind}/{number}/ports/{position}/hostPort"
                    operations.append(fwk.PatchOperation("remove", path))
    return fwk.Change(
        kind="port",
        on="pod",
        text=f"no host port {_in_words(wanted)}",
        effort=_EFFORT,
        patch=tuple(operations),
    )
