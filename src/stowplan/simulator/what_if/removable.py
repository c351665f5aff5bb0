"""Nodes that could go together with everything still placed."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan import api
from stowplan.cache.requests import scheduling_requests
from stowplan.framework import NodeInfo
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.what_if.records import Removable
from stowplan.simulator.what_if.run import ClusterRun, is_daemon
from stowplan.simulator.workloads import is_recreated


def removable_nodes(run: ClusterRun) -> Removable:
    """Remove the least used nodes first; a group that leaves pods without a node is halved, and a single node that
    does stays. Nodes with pods that no controller creates anew stay."""
    search = _Search(run)
    candidates = _candidates(run)
    search.remove(candidates)
    return Removable(nodes=tuple(sorted(search.removed)), examined=len(candidates), pods=search.pods)


class _Search:
    """Group testing: each try is a run with the nodes of a group removed besides those that are gone already."""

    def __init__(self, run: ClusterRun) -> None:
        self.run = run
        self.removed: list[str] = []
        self.pods = 0
        self._pending = _pending(run)

    def remove(self, names: Sequence[str]) -> None:
        if not names:
            return
        if len(names) < len(list(self.run.api_server.all(api.Node))) and self._fits_without(names):
            return
        if len(names) > 1:
            half = (len(names) + 1) // 2
            self.remove(names[:half])
            self.remove(names[half:])

    def _fits_without(self, names: Sequence[str]) -> bool:
        """Remove the nodes if every pod still has a place."""
        if not _have_room(self.run, names):
            return False
        tried = self.run.copy()
        pods = [pod for name in names for pod in tried.api_server.pods_on(name) if not is_daemon(pod)]
        expected = tried.api_server.count(api.Pod) - sum(len(tried.api_server.pods_on(name)) for name in names)
        for name in names:
            tried.api_server.delete(api.Node(metadata=api.ObjectMeta(name=name)))
        tried.rest()
        if _pending(tried) > self._pending or tried.api_server.count(api.Pod) < expected + len(pods):
            return False
        if tried.recorder.evictions:
            return False
        self.run = tried
        self.removed += names
        self.pods += len(pods)
        return True


def _candidates(run: ClusterRun) -> list[str]:
    """Nodes whose pods would all be created anew, the least used first."""
    nodes = run.simulation.engine.cluster.nodes
    found = [info for info in nodes if _is_free_to_go(run.api_server, info.name)]
    return [info.name for info in sorted(found, key=lambda info: (_share(run, info), info.name))]


def _is_free_to_go(api_server: ApiServer, name: str) -> bool:
    return all(is_daemon(pod) or is_recreated(api_server, pod) for pod in api_server.pods_on(name))


def _share(run: ClusterRun, info: NodeInfo) -> float:
    """The largest requested share of a resource that pods other than daemons have to find elsewhere."""
    nodes = run.simulation.engine.cluster.nodes
    allocatable, requested = nodes.allocatable_of(info.slot), nodes.requested_of(info.slot)
    return max((requested.get(name, 0) / amount for name, amount in allocatable.items() if amount), default=0.0)


def _have_room(run: ClusterRun, names: Sequence[str]) -> bool:
    """Whether the other nodes have as much free as the pods request: a cheap check before a run."""
    nodes = run.simulation.engine.cluster.nodes
    gone = {info.slot for name in names if (info := nodes.get(name)) is not None}
    for resource in ("cpu", "memory"):
        allocatable, requested = nodes.allocatable.get(resource), nodes.requested.get(resource)
        if allocatable is None or requested is None:
            continue
        slots = [info.slot for info in nodes if info.slot not in gone]
        free = sum(allocatable.values[slot] - requested.values[slot] for slot in slots)
        if sum(requested.values[slot] for slot in gone) > free + _of_daemons(run, names, resource):
            return False
    return True


def _of_daemons(run: ClusterRun, names: Sequence[str], resource: str) -> int:
    pods = (pod for name in names for pod in run.api_server.pods_on(name) if is_daemon(pod))
    return sum(scheduling_requests(pod.spec)[0].get(resource, 0) for pod in pods)


def _pending(run: ClusterRun) -> int:
    return sum(not pod.spec.node_name for pod in run.api_server.all(api.Pod))
