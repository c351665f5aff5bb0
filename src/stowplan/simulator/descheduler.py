"""A model of the descheduler: evicts pods that a new decision of the scheduler may place better.

A run evicts for PodLifeTime, HighNodeUtilization and LowNodeUtilization, in this order, within the limits of the run. A
node's use is the sum of its pods' requests. Candidates are the pods that the descheduler's DefaultEvictor accepts:
with a controller, below the system-critical priority, and not of a DaemonSet or static. A pod whose PodDisruptionBudget
permits no disruption is skipped. Whether an evicted pod fits elsewhere is not checked (`nodeFit` is off upstream too).
Upstream also keeps pods with local storage; the model does not read emptyDir and hostPath volumes.

Upstream: sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization, plugins/podlifetime, plugins/defaultevictor
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stowplan import api
from stowplan.framework import NodeInfo, Pod
from stowplan.optional_plugins.base.qos_class import qos_class
from stowplan.simulator.admission import SYSTEM_CRITICAL_PRIORITY
from stowplan.simulator.api_server import controller_of
from stowplan.simulator.kubelet import Kubelet
from stowplan.simulator.node_lifecycle import NodeLifecycle, is_daemon
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.simulation import Simulation
from stowplan.web.columns import unix_seconds

Percentages = Mapping[str, float]
_WHOLE_PERCENT = 100.0


class NodeUtilization(NamedTuple):
    """Bounds of LowNodeUtilization or HighNodeUtilization, in percent of allocatable, by resource."""

    thresholds: Percentages
    """A node whose use exceeds none of these is underutilized."""
    target: Percentages
    """A node whose use exceeds one of these is overutilized; nodes that receive pods are filled up to these."""
    number_of_nodes: int = 0
    """Nothing is evicted unless more nodes than this are underutilized."""


class DeschedulerSettings(NamedTuple):
    """The strategies of a descheduler and the limits of a run; None: strategy off, or without a limit."""

    max_pod_seconds: float | None = None
    """Of PodLifeTime."""
    low: NodeUtilization | None = None
    high: NodeUtilization | None = None
    max_per_node: int | None = None
    max_total: int | None = None


class _Candidate(NamedTuple):
    pod: api.Pod
    known: Pod

    @property
    def rank(self) -> tuple[int, int, str, str]:
        """Eviction order: the lowest priority first, then BestEffort before Burstable before Guaranteed."""
        metadata = self.pod.metadata
        return self.known.priority, qos_class(self.known.template), metadata.namespace, metadata.name


class Descheduler:
    """Evicts pods at each `run`; equal clusters give equal evictions."""

    def __init__(
        self, simulation: Simulation, kubelet: Kubelet, lifecycle: NodeLifecycle, settings: DeschedulerSettings
    ) -> None:
        self._simulation = simulation
        self._kubelet = kubelet
        self._lifecycle = lifecycle
        self._settings = settings
        self._evicted: Counter[str] = Counter()
        """By node, evictions of the current run."""

    def run(self) -> None:
        self._simulation.settle()
        self._evicted.clear()
        settings = self._settings
        nodes = sorted(filter(_is_ready, self._simulation.engine.cluster.nodes), key=lambda info: info.name)
        if settings.max_pod_seconds is not None:
            self._pod_life_time(nodes, settings.max_pod_seconds)
        if settings.high is not None:
            self._high_node_utilization(nodes, settings.high)
        if settings.low is not None:
            self._low_node_utilization(nodes, settings.low)

    def _pod_life_time(self, nodes: Iterable[NodeInfo], max_seconds: float) -> None:
        """Evict pods past an age, the oldest first."""
        now = self._simulation.clock.now
        aged = [
            (unix_seconds(each.pod.metadata.creation_timestamp), each)
            for info in nodes
            for each in self._candidates(info)
        ]
        for created, each in sorted(aged, key=lambda item: (item[0], item[1].rank)):
            if now - created > max_seconds:
                self._evict(each.pod, "PodLifeTime")

    def _low_node_utilization(self, nodes: list[NodeInfo], bounds: NodeUtilization) -> None:
        """Evict from overutilized nodes, the fullest first, as long as underutilized nodes have room."""
        under = [info for info in nodes if not info.unschedulable and not _exceeds(info, bounds.thresholds)]
        over = [info for info in nodes if _exceeds(info, bounds.target)]
        if len(under) > bounds.number_of_nodes:
            over.sort(key=lambda info: -_fullness(info, bounds.target))
            self._move(over, under, bounds, "LowNodeUtilization", stop_at=bounds.target)

    def _high_node_utilization(self, nodes: list[NodeInfo], bounds: NodeUtilization) -> None:
        """Empty underutilized nodes, the emptiest first, as long as the other nodes have room."""
        under = [info for info in nodes if not _exceeds(info, bounds.thresholds)]
        others = [info for info in nodes if not info.unschedulable and _exceeds(info, bounds.thresholds)]
        if len(under) > bounds.number_of_nodes:
            under.sort(key=lambda info: _fullness(info, bounds.thresholds))
            self._move(under, others, bounds, "HighNodeUtilization")

    def _move(
        self,
        sources: Iterable[NodeInfo],
        targets: list[NodeInfo],
        bounds: NodeUtilization,
        cause: str,
        stop_at: Percentages | None = None,
    ) -> None:
        """Evict from each source until it is no longer above `stop_at`, or the targets are full in one resource."""
        room = {
            name: sum(share * _offered(info, name) / _WHOLE_PERCENT - _used(info, name) for info in targets)
            for name, share in bounds.target.items()
            if any(_offered(info, name) for info in targets)
        }
        for info in sources:
            used = {name: _used(info, name) for name in bounds.target}
            for each in self._candidates(info):
                if min(room.values(), default=0.0) <= 0 or (stop_at is not None and not _is_above(used, info, stop_at)):
                    break
                if self._evict(each.pod, cause):
                    for name in used:
                        amount = 1 if name == "pods" else each.known.template.requests.get(name, 0)
                        used[name] -= amount
                        room[name] = room.get(name, math.inf) - amount

    def _candidates(self, info: NodeInfo) -> list[_Candidate]:
        """The evictable pods of a node in eviction order."""
        found = [
            _Candidate(pod, info.pods[pod.metadata.uid])
            for pod in self._simulation.api_server.pods_on(info.name)
            if pod.metadata.uid in info.pods and self._is_evictable(pod)
        ]
        return sorted(found, key=lambda each: each.rank)

    def _is_evictable(self, pod: api.Pod) -> bool:
        if not is_active(pod) or is_daemon(pod) or (pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY:
            return False
        life = self._kubelet.life_of(pod)
        return controller_of(pod) is not None or (life is not None and life.work.resubmit)

    def _evict(self, pod: api.Pod, cause: str) -> bool:
        """Evict a pod if limits and budgets permit it."""
        settings, node = self._settings, pod.spec.node_name
        if self._evicted[node] >= _limit(settings.max_per_node):
            return False
        if self._evicted.total() >= _limit(settings.max_total) or not self._lifecycle.may_evict(pod):
            return False
        self._evicted[node] += 1
        self._kubelet.evict(pod, cause)
        self._simulation.settle()
        return True


def _limit(value: int | None) -> float:
    return math.inf if value is None else value


def _is_ready(info: NodeInfo) -> bool:
    return all(each.type != "Ready" or each.status == "True" for each in info.status.conditions)


def _used(info: NodeInfo, name: str) -> int:
    return len(info.pods) if name == "pods" else info.requested.get(name, 0)


def _offered(info: NodeInfo, name: str) -> int:
    return info.allocatable.get(name, 0)


def _is_above(used: Mapping[str, int], info: NodeInfo, bounds: Percentages) -> bool:
    return any(used[name] * _WHOLE_PERCENT > share * _offered(info, name) for name, share in bounds.items())


def _exceeds(info: NodeInfo, bounds: Percentages) -> bool:
    return _is_above({name: _used(info, name) for name in bounds}, info, bounds)


def _fullness(info: NodeInfo, names: Iterable[str]) -> float:
    """The sum of the shares of the resources that are used."""
    return sum(_used(info, name) / _offered(info, name) for name in names if _offered(info, name))
