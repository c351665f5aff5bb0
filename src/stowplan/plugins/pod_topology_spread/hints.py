"""Queueing hints of PodTopologySpread.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go (isSchedulableAfterPodChange,
isSchedulableAfterNodeChange)
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan import framework as fwk
from stowplan.api import Node
from stowplan.plugins.pod_topology_spread.constraints import Constraints


def pod_change_helps(pod: fwk.Pod, constraints: Constraints, old: fwk.Pod | None, new: fwk.Pod | None) -> bool:
    """A pod was added to a node, deleted, or has other labels or tolerations."""
    if not all(_involved(other, pod) for other in (old, new) if other is not None):
        return False
    if old is not None and new is not None:
        retolerates = new.uid == pod.uid and new.spec.tolerations != old.spec.tolerations
        if retolerates and any(constraint.honors_taints for constraint in constraints):
            return True
        return any(c.selector.matches(old.labels) != c.selector.matches(new.labels) for c in constraints)
    other = new or old
    return other is not None and any(constraint.selector.matches(other.labels) for constraint in constraints)


def node_change_helps(constraints: Constraints, old: Node | None, new: Node | None) -> bool:
    """A node was added, deleted, or has other labels or taints."""
    before = old is not None and _has_keys(old.metadata.labels, constraints)
    after = new is not None and _has_keys(new.metadata.labels, constraints)
    if old is None or new is None or before != after:
        return before or after
    moved = any(_domain(old, c.topology_key) != _domain(new, c.topology_key) for c in constraints)
    return after and (moved or old.spec.taints != new.spec.taints)


def _involved(other: fwk.Pod, pod: fwk.Pod) -> bool:
    """Whether the other pod is the pod itself, or counts in its namespace."""
    if other.uid == pod.uid:
        return True
    return bool(other.node_name or other.nominated_node_name) and other.namespace == pod.namespace


def _has_keys(labels: Mapping[str, str], constraints: Constraints) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def _domain(node: Node, topology_key: str) -> str:
    return node.metadata.labels.get(topology_key, "")
