"""Scaling down and rolling updates of workloads, which a scenario starts.

Upstream: pkg/controller/replicaset/replica_set.go (getPodsToDelete), pkg/controller/deployment/rolling.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.kubelet import Kubelet
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.replicas import new_replica_set, same_template
from stowplan.simulator.workloads.workload_controller import replicas_of

REVISION_LABEL = "simulation.stowplan/revision"


def set_replicas(kubelet: Kubelet, owner: Any, count: int) -> None:
    """Scale a workload that exists up or down."""
    server = kubelet.api_server
    found = server.get(type(owner), owner.metadata.name, owner.metadata.namespace)
    if found is None:
        return
    before = replicas_of(found)
    scaled = replace(found, spec=replace(found.spec, replicas=count))
    if count < before:
        if isinstance(found, api.Deployment):
            _shrink_sets(kubelet, found, before - count)
        else:
            server.put(scaled)
            _delete_surplus(kubelet, found, before - count)
    server.put(scaled)


def _shrink_sets(kubelet: Kubelet, owner: api.Deployment, surplus: int) -> None:
    for each in replica_sets(kubelet.api_server, owner):
        fewer = min(surplus, replicas_of(each))
        surplus -= fewer
        shrink(kubelet, each, fewer)


def shrink(kubelet: Kubelet, owner: Any, fewer: int) -> None:
    """Take replicas from a ReplicaSet, and delete their pods."""
    if fewer > 0:
        server = kubelet.api_server
        server.put(replace(owner, spec=replace(owner.spec, replicas=replicas_of(owner) - fewer)))
        _delete_surplus(kubelet, owner, fewer)


def replica_sets(server: ApiServer, owner: api.Deployment) -> list[api.ReplicaSet]:
    names = server.dependents(owner.metadata.uid, api.ReplicaSet)
    found = (server.get(api.ReplicaSet, name, owner.metadata.namespace) for name in names)
    return [each for each in found if each is not None]


def pods_of(server: ApiServer, owner: Any) -> list[api.Pod]:
    """Active pods of a controller."""
    names = server.dependents(owner.metadata.uid, api.Pod)
    found = (server.get(api.Pod, name, owner.metadata.namespace) for name in names)
    return [pod for pod in found if pod is not None and is_active(pod)]


def _delete_surplus(kubelet: Kubelet, owner: Any, count: int) -> None:
    """Delete pods: pending ones first, then those that do not run yet, then the newest."""
    pods = pods_of(kubelet.api_server, owner)
    if isinstance(owner, api.StatefulSet):
        pods.sort(key=lambda pod: -int(pod.metadata.name.rpartition("-")[2]))
    else:
        pods.sort(key=lambda pod: _deletion_rank(kubelet, pod))
    for pod in pods[:count]:
        kubelet.api_server.delete(pod)


def _deletion_rank(kubelet: Kubelet, pod: api.Pod) -> tuple[bool, bool, float]:
    life = kubelet.life_of(pod)
    runs = life is not None and life.running_since is not None
    return bool(pod.spec.node_name), runs, -(life.created if life is not None else 0.0)


def share_of(value: object, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the replicas, rounded up or down."""
    if isinstance(value, str) and value.endswith("%"):
        part = whole * float(value[:-1]) / 100
        return math.ceil(part) if up else math.floor(part)
    return int(value) if isinstance(value, int) else 0


class RollingUpdate:
    """The replacement of all pods of a Deployment, within maxSurge and maxUnavailable."""

    def __init__(self, kubelet: Kubelet, name: str, namespace: str, max_unavailable: object, max_surge: object) -> None:
        self.done = False
        self._kubelet = kubelet
        self._name, self._namespace = name, namespace
        self._limits = max_unavailable, max_surge

    def begin(self) -> None:
        """Change the pod template, so that all pods are outdated."""
        server = self._kubelet.api_server
        owner = server.get(api.Deployment, self._name, self._namespace)
        if owner is None:
            self.done = True
            return
        template = owner.spec.template
        revision = int(template.metadata.labels.get(REVISION_LABEL, "1")) + 1
        labels = {**template.metadata.labels, REVISION_LABEL: str(revision)}
        template = replace(template, metadata=replace(template.metadata, labels=labels))
        server.put(replace(owner, spec=replace(owner.spec, template=template)))
        self.proceed()

    def proceed(self) -> None:
        """Create and delete pods as far as the limits permit now."""
        server = self._kubelet.api_server
        owner = server.get(api.Deployment, self._name, self._namespace)
        if self.done or owner is None:
            self.done = True
            return
        desired = replicas_of(owner)
        unavailable = share_of(self._limits[0], desired, up=False)
        surge = share_of(self._limits[1], desired, up=True)
        if not unavailable and not surge:
            unavailable = 1
        sets = replica_sets(server, owner)
        new = next((each for each in sets if same_template(each, owner)), None)
        if new is None:
            new = server.put(new_replica_set(owner, 0))
        old = [each for each in sets if each.metadata.uid != new.metadata.uid]
        self._shrink_old(old, new, desired - unavailable)
        old = [each for each in replica_sets(server, owner) if each.metadata.uid != new.metadata.uid]
        total = replicas_of(new) + sum(map(replicas_of, old))
        more = min(desired - replicas_of(new), desired + surge - total)
        if more > 0:
            new = server.put(replace(new, spec=replace(new.spec, replicas=replicas_of(new) + more)))
        if not any(map(replicas_of, old)) and replicas_of(new) >= desired:
            self.done = True
            for each in old:
                server.delete(each)

    def _shrink_old(self, old: Iterable[api.ReplicaSet], new: api.ReplicaSet, min_available: int) -> None:
        kubelet, server = self._kubelet, self._kubelet.api_server
        old = list(old)
        pods = {each.metadata.uid: pods_of(server, each) for each in (*old, new)}
        available = sum(self._runs(pod) for each in pods.values() for pod in each)
        for each in old:
            running = sum(map(self._runs, pods[each.metadata.uid]))
            idle = replicas_of(each) - running
            removable = min(running, max(0, available - min_available))
            available -= removable
            shrink(kubelet, each, max(0, idle) + removable)

    def _runs(self, pod: api.Pod) -> bool:
        life = self._kubelet.life_of(pod)
        return life is not None and life.running_since is not None
