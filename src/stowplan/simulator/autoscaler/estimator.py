"""Tries pods on nodes: on new ones that do not exist yet, and on the others of the cluster, by the profile's filters.

Nodes and pods are put into the cache and taken out again, so that affinity, spread, ports and devices count as they do
for the scheduler.

Upstream: k8s.io/autoscaler/cluster-autoscaler/estimator/binpacking_estimator.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.cache.trial import Trial
from stowplan.engine import Engine
from stowplan.framework import NodeInfo, Pod
from stowplan.insight.altered import status_on


class NodePacking(NamedTuple):
    """Pods on new nodes: one list for each node."""

    nodes: list[list[Pod]]
    left: list[Pod]
    """Pods that fit on no such node."""


class Estimator:
    """Answers questions about an engine's cluster; afterwards it is as before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def refused_pods(self, now: float, delay: float) -> list[Pod]:
        """Pending pods that the scheduler has refused, older than the delay, without a nominated node."""
        found = []
        for info in self._engine.queued_pods("unschedulable", "backoff", "error_backoff"):
            first = info.initial_attempt_timestamp
            if info.attempts and first is not None and now - first >= delay and not info.pod.nominated_node_name:
                found.append(info.pod)
        return found

    def pack(self, pods: Iterable[Pod], node_of: Callable[[int], api.Node], limit: int) -> NodePacking:
        """Place pods on at most `limit` new nodes, the largest first, each on the first node that it fits."""
        cluster = self._engine.cluster
        example = node_of(0)
        ordered = sorted(pods, key=lambda pod: -_size(pod, example))
        packed: list[list[Pod]] = []
        infos: list[NodeInfo] = []
        left: list[Pod] = []
        first_try: dict[object, int] = {}
        refused: set[object] = set()
        with self._trial() as trial:
            for pod in ordered:
                template = pod.template
                if template in refused:
                    left.append(pod)
                    continue
                begin = first_try.get(template, 0)
                place = next((index for index in range(begin, len(infos)) if self._fits(pod, infos[index])), None)
                if place is None and len(infos) < limit:
                    infos.append(cluster.put_node(node_of(len(infos))))
                    packed.append([])
                    if self._fits(pod, infos[-1]):
                        place = len(infos) - 1
                    else:
                        cluster.remove_node(infos.pop().name)
                        packed.pop()
                        refused.add(template)
                if place is None:
                    left.append(pod)
                    continue
                first_try[template] = place
                trial.assume(pod, infos[place].name)
                packed[place].append(pod)
            self._take_back(trial, packed, infos)
        return NodePacking(packed, left)

    def _take_back(self, trial: Trial, packed: list[list[Pod]], infos: list[NodeInfo]) -> None:
        for pods in reversed(packed):
            for pod in reversed(pods):
                trial.forget(pod)
        for info in reversed(infos):
            self._engine.cluster.remove_node(info.name)

    def all_fit(self, pods: Iterable[Pod], node: api.Node) -> bool:
        """Whether all pods fit together on one new node."""
        packing = self.pack(pods, lambda number: node, 1)
        return not packing.left

    def fit_elsewhere(self, name: str, movable: list[api.Pod], extra: api.Node | None = None) -> list[str] | None:
        """Nodes for all the pods of a node that is about to leave; None if one of them fits nowhere.

        `extra` is a further node that they may use.
        """
        cluster = self._engine.cluster
        info = cluster.nodes.get(name)
        if info is None:
            return None
        before, source = info.node, info.source
        targets: list[str] = []
        with self._trial() as trial:
            cluster.put_node(replace(before, spec=replace(before.spec, unschedulable=True)), source)
            added = None if extra is None else cluster.put_node(extra)
            for item in movable:
                resident = info.pods.get(item.metadata.uid)
                if resident is not None:
                    trial.remove(resident, info)
            moved: list[Pod] = []
            for item in movable:
                target = self._place(item)
                if not target:
                    break
                pod = self._copy(item)
                trial.assume(pod, target)
                moved.append(pod)
                targets.append(target)
            for pod in reversed(moved):
                trial.forget(pod)
            if added is not None:
                cluster.remove_node(added.name)
            cluster.put_node(before, source)
        return targets if len(targets) == len(movable) else None

    def _place(self, item: api.Pod) -> str:
        pod = self._copy(item)
        profile = self._engine.profiles.get(pod.template.spec.scheduler_name)
        return "" if profile is None else self._engine.examine(lambda: profile.explain_decision(pod)).node_name

    def _copy(self, item: api.Pod) -> Pod:
        """The pod as a pending one with a uid of its own."""
        metadata = replace(item.metadata, uid=f"{item.metadata.uid}-moved")
        status = replace(item.status, nominated_node_name="")
        return self._engine.cluster.pod(
            replace(item, metadata=metadata, spec=replace(item.spec, node_name=""), status=status)
        )

    def _fits(self, pod: Pod, info: NodeInfo) -> bool:
        profile = self._engine.profiles[pod.template.spec.scheduler_name]
        return self._engine.examine(lambda: status_on(profile, pod, info)) is None

    @contextmanager
    def _trial(self) -> Iterator[Trial]:
        with self._engine.cluster.nodes.temporary_changes(), Trial(self._engine.cluster) as trial:
            yield trial


def _size(pod: Pod, node: api.Node) -> float:
    """The sum of the shares of CPU and memory, as in cluster-autoscaler."""
    from stowplan.api.quantity import milli_value, value

    requests = pod.template.requests
    cpu = milli_value(node.status.allocatable.get("cpu", 0))
    memory = value(node.status.allocatable.get("memory", 0))
    return (requests.get("cpu", 0) / cpu if cpu else 0.0) + (requests.get("memory", 0) / memory if memory else 0.0)
