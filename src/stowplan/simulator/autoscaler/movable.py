"""Nodes that may be removed: their use, and whether their pods may be moved.

cluster-autoscaler also keeps nodes with pods that use emptyDir or hostPath volumes (skip-nodes-with-local-storage). The
model does not: those volumes are not decoded, since no scheduling rule reads them.

Upstream: k8s.io/autoscaler/cluster-autoscaler/simulator/drain.go, simulator/utilization/info.go
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan import api
from stowplan.framework import NodeInfo
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.node_lifecycle import NodeLifecycle, budgets_of, is_daemon

_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


def utilisation(info: NodeInfo) -> float:
    """The larger of the shares of CPU and memory that are requested; of a node with GPUs that of the GPUs."""
    offered, requested = info.allocatable, info.requested
    for name in _GPUS:
        if offered.get(name, 0):
            return requested.get(name, 0) / offered[name]
    shares = [requested.get(name, 0) / offered[name] for name in ("cpu", "memory") if offered.get(name, 0)]
    return max(shares, default=0.0)


def movable_pods(server: ApiServer, lifecycle: NodeLifecycle, name: str) -> list[api.Pod] | None:
    """The pods that have to leave with a node; None if one of them may not be evicted."""
    found = []
    for pod in server.pods_on(name):
        if is_daemon(pod):
            continue
        if not _may_move(server, lifecycle, pod):
            return None
        found.append(pod)
    return found


def _may_move(server: ApiServer, lifecycle: NodeLifecycle, pod: api.Pod) -> bool:
    annotations = pod.metadata.annotations
    if annotations.get(DO_NOT_DISRUPT) == "true":
        return False
    safe = annotations.get(_SAFE_TO_EVICT)
    if safe is not None:
        return safe == "true" and lifecycle.may_evict(pod)
    if controller_of(pod) is None:
        return False
    if pod.metadata.namespace == "kube-system" and not list(budgets_of(server, pod)):
        return False
    return lifecycle.may_evict(pod)


def disruptable_pods(server: ApiServer, lifecycle: NodeLifecycle, name: str) -> list[api.Pod] | None:
    """The same by Karpenter's rules: only the annotation do-not-disrupt and budgets keep a pod on its node."""
    found = []
    for pod in server.pods_on(name):
        if is_daemon(pod):
            continue
        if pod.metadata.annotations.get(DO_NOT_DISRUPT) == "true" or not lifecycle.may_evict(pod):
            return None
        found.append(pod)
    return found


def by_use(infos: Iterable[NodeInfo]) -> list[NodeInfo]:
    return sorted(infos, key=lambda info: (utilisation(info), info.name))
