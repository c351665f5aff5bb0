"""Trials: pods assumed on nodes and taken off nodes until the trial ends; readers see no difference to real changes.

The journal serves what-ifs within one pod's cycle, where plugins follow with AddPod and RemovePod and kept answers stay
as they are. A trial spans the cycles of several pods: each sees the pods of the trial as pods of the cluster, and
changes are logged, so kept answers are repaired for the changed nodes alone.

Upstream: pkg/scheduler/backend/cache/snapshot.go (AssumePod, ForgetPod, BackupSnapshot)
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from stowplan.framework import NodeInfo, Pod

if TYPE_CHECKING:
    from stowplan.cache.cluster import Cluster


class Trial:
    """A context manager; leaving it restores the cluster, including the order of the pods on each node."""

    __slots__ = ("_assumed", "_cluster", "_orders", "_removed")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._assumed: dict[str, Pod] = {}
        self._removed: dict[str, tuple[Pod, NodeInfo]] = {}
        self._orders: dict[int, tuple[NodeInfo, dict[str, Pod]]] = {}

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for pod in reversed(list(self._assumed.values())):
            self.forget(pod)
        for pod, _ in list(self._removed.values()):
            self.restore(pod)
        for info, pods in self._orders.values():
            info.residents.clear()
            info.residents.update(pods)

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count a pending pod on a node, and as an assumed member of its group."""
        self._cluster.assume(pod, node_name)
        self._cluster.pod_groups.assume(pod)
        self._assumed[pod.uid] = pod

    def forget(self, pod: Pod) -> None:
        """Take back an assumed pod."""
        self._cluster.forget(pod)
        del self._assumed[pod.uid]

    def remove(self, pod: Pod, info: NodeInfo) -> None:
        """Take a running pod off its node. Its group still counts the pod."""
        self._orders.setdefault(info.slot, (info, dict(info.pods)))
        self._cluster.shift_settled(pod, info, -1)
        self._removed[pod.uid] = (pod, info)

    def restore(self, pod: Pod) -> None:
        """Put a pod back that was taken off its node."""
        pod, info = self._removed.pop(pod.uid)
        self._cluster.shift_settled(pod, info, 1)
