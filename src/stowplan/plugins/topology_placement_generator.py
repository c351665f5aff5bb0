"""TopologyPlacementGenerator: one placement for each domain of a pod group's topology key.

Upstream: pkg/scheduler/framework/plugins/topologyaware/topology_placement.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.framework.pod_group import group_name
from stowplan.plugins.base import InTreePlugin


class TopologyPlacementGenerator(InTreePlugin):
    """Nodes without the label are in no placement. If members are scheduled already, only their domain is offered."""

    name = "TopologyPlacementGenerator"
    reads = ("PodGroup",)

    def generate_placements(
        self, state: fwk.CycleState, group: fwk.PodGroupInfo, parent: fwk.Placement
    ) -> fwk.Status | Iterable[fwk.Placement]:
        if group.rules is None:
            return fwk.error(f'podgroup.scheduling.k8s.io "{group.name}" not found')
        key = group.rules.topology_key
        if not key:
            return (parent,)
        known = self.handle.pod_group_state(group.namespace, group.name)
        only = None if known is None else self._domain_of(known.scheduled, key)
        if isinstance(only, fwk.Status):
            return only
        domains: dict[str, list[int]] = {}
        for _, info in parent.nodes.infos():
            domain = info.labels.get(key)
            if domain is not None and (only is None or domain == only):
                domains.setdefault(domain, []).append(info.slot)
        subset = self.nodes.subset
        return [
            fwk.Placement(domain, subset(np.array(slots, dtype=np.intp))) for domain, slots in sorted(domains.items())
        ]

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        """kube-scheduler registers none, and retries a group without a placement every ten seconds."""
        node_actions = fwk.Action.Add | fwk.Action.UpdateNodeLabel
        return (
            fwk.on(fwk.EventResource.Node, node_actions, self._after_node_change),
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete, _after_pod_delete),
        )

    def _after_node_change(self, pod: fwk.Pod, old: api.Node | None, new: api.Node | None) -> fwk.QueueingHint:
        """A node is in a domain of the group's topology key."""
        rules = self.cluster.pod_groups.rules_of(pod)
        key = "" if rules is None else rules.topology_key
        domain = None if new is None else new.metadata.labels.get(key)
        before = None if old is None else old.metadata.labels.get(key)
        return fwk.QueueingHint.QueueSkip if domain is None or domain == before else fwk.QueueingHint.Queue

    def _domain_of(self, scheduled: Mapping[str, fwk.Pod], key: str) -> str | fwk.Status | None:
        """The domain of the scheduled members; None without any."""
        found: str | None = None
        for pod in scheduled.values():
            info = self.nodes.get(pod.node_name)
            if info is None:
                return _undetermined(
                    f'getting node for pod {pod.key}: nodeinfo not found for node name "{pod.node_name}"'
                )
            domain = info.labels.get(key)
            if domain is None:
                return _undetermined(f"no topology domain found for pod {pod.key}")
            if found and found != domain:
                return _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
            found = domain
        return found


def _after_pod_delete(pod: fwk.Pod, old: fwk.Pod | None, new: fwk.Pod | None) -> fwk.QueueingHint:
    """The member that tied the group to its domain is gone."""
    if old is not None and old.namespace == pod.namespace and group_name(old) == group_name(pod) != "":
        return fwk.QueueingHint.Queue
    return fwk.QueueingHint.QueueSkip


def _undetermined(why: str) -> fwk.Status:
    return fwk.error(f"cannot determine domain for already scheduled pods: {why}")
