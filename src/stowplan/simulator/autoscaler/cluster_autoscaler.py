"""A model of cluster-autoscaler: scale-up by an expander, scale-down of nodes that are not needed for some time.

Upstream: k8s.io/autoscaler/cluster-autoscaler/core (static_autoscaler.go, scaleup, scaledown), expander
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from stowplan.api.quantity import milli_value, value
from stowplan.framework import Pod
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.autoscaler.estimator import Estimator, NodePacking
from stowplan.simulator.autoscaler.movable import by_use, movable_pods, utilisation
from stowplan.simulator.autoscaler.node_groups import NodeGroup, NodeGroups
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.simulation import Simulation

EXPANDERS = ("random", "most-pods", "least-waste", "least-nodes", "price", "priority")
_GROUP_BACKOFF_SECONDS = 300.0
_MAX_EMPTY_AT_ONCE = 10
_MAX_DRAINED_AT_ONCE = 1


class ClusterAutoscalerSettings(NamedTuple):
    """Flags of cluster-autoscaler; times in seconds."""

    expander: str = "least-waste"
    scan_interval: float = 10.0
    new_pod_scale_up_delay: float = 0.0
    scale_down_enabled: bool = True
    scale_down_unneeded_time: float = 600.0
    scale_down_delay_after_add: float = 600.0
    scale_down_utilization_threshold: float = 0.5
    max_node_provision_time: float = 900.0


class _Option(NamedTuple):
    group: NodeGroup
    nodes: int
    packing: NodePacking

    @property
    def pods(self) -> list[Pod]:
        return [pod for pods in self.packing.nodes for pod in pods]


class ClusterAutoscaler:
    """Scans the cluster at equal intervals."""

    def __init__(
        self,
        simulation: Simulation,
        groups: NodeGroups,
        settings: ClusterAutoscalerSettings,
        choose: Callable[[], float],
    ) -> None:
        """`choose` draws a number in [0, 1) for the expander `random`."""
        self._simulation = simulation
        self._groups = groups
        self._settings = settings
        self._choose = choose
        self._estimator = Estimator(simulation.engine)
        self._unneeded: dict[str, float] = {}
        """Nodes that are not needed, and since when."""
        self._last_added = -math.inf
        self._state: tuple[object, ...] = ()

    def begin(self) -> None:
        self._schedule()

    def _schedule(self) -> None:
        server = self._simulation.api_server
        server.at(to_microseconds(server.clock() + self._settings.scan_interval), self._scan, StepOrder.AUTOSCALER)

    def _scan(self) -> None:
        self._schedule()
        self._simulation.settle()
        now = self._simulation.clock.now
        pods = self._estimator.refused_pods(now, self._settings.new_pod_scale_up_delay)
        if pods and self._scale_up(pods, now):
            self._simulation.settle()
            return
        if self._settings.scale_down_enabled:
            self._scale_down(now)
            self._simulation.settle()

    # Scale-up
    def _scale_up(self, pods: list[Pod], now: float) -> bool:
        pods = self._beyond_upcoming(pods)
        if not pods:
            return False
        options = []
        for group in self._groups.groups:
            room = group.high - group.size
            if room <= 0 or now < group.backoff_until:
                continue
            packing = self._estimator.pack(pods, group.template_node, room)
            if packing.nodes:
                options.append(_Option(group, len(packing.nodes), packing))
        if not options:
            return False
        best = self._best(options)
        self._groups.add(best.group, best.nodes, self._settings.max_node_provision_time, _GROUP_BACKOFF_SECONDS)
        self._last_added = now
        return True

    def _beyond_upcoming(self, pods: list[Pod]) -> list[Pod]:
        """The pods that do not fit on nodes that were requested and are not Ready yet."""
        for group in self._groups.groups:
            if group.upcoming and pods:
                pods = self._estimator.pack(pods, group.template_node, len(group.upcoming)).left
        return pods

    def _best(self, options: list[_Option]) -> _Option:
        expander = self._settings.expander
        if expander == "random":
            return options[int(self._choose() * len(options))]
        ranks: dict[str, Callable[[_Option], float]] = {
            "most-pods": lambda option: -len(option.pods),
            "least-waste": _waste,
            "least-nodes": lambda option: option.nodes,
            "price": lambda option: option.group.pool.price * option.nodes / len(option.pods),
            "priority": lambda option: -option.group.priority,
        }
        return min(options, key=ranks[expander])

    # Scale-down
    def _scale_down(self, now: float) -> None:
        engine = self._simulation.engine
        state = (engine.cluster.nodes.log.position, engine.cluster.nodes.version, self._simulation.api_server.version)
        if state != self._state:
            self._state = state
            self._find_unneeded(now)
        if not self._unneeded or now - self._last_added < self._settings.scale_down_delay_after_add:
            return
        due = [name for name, since in self._unneeded.items() if now - since >= self._settings.scale_down_unneeded_time]
        empty = drained = 0
        draining = sum(len(group.leaving) for group in self._groups.groups)
        for name in due:
            group = self._groups.group_of(name)
            if group is None or group.size <= group.low:
                continue
            pods = movable_pods(self._simulation.api_server, self._groups.lifecycle, name)
            if pods is None:
                continue
            if not pods and empty < _MAX_EMPTY_AT_ONCE:
                empty += 1
            elif pods and not draining and drained < _MAX_DRAINED_AT_ONCE:
                drained += 1
            else:
                continue
            del self._unneeded[name]
            self._groups.remove(group, name, "scale-down")

    def _find_unneeded(self, now: float) -> None:
        nodes, server = self._simulation.engine.cluster.nodes, self._simulation.api_server
        threshold = self._settings.scale_down_utilization_threshold
        infos = [
            info
            for group in self._groups.groups
            if group.size > group.low
            for name in group.nodes
            if name not in group.upcoming and name not in group.leaving and (info := nodes.get(name)) is not None
        ]
        found: dict[str, float] = {}
        targets: set[str] = set()
        for info in by_use(infos):
            if utilisation(info) >= threshold:
                break
            if info.name in targets:
                continue
            pods = movable_pods(server, self._groups.lifecycle, info.name)
            if pods is None:
                continue
            places = self._estimator.fit_elsewhere(info.name, pods) if pods else []
            if places is None or any(place in found for place in places):
                continue
            targets.update(places)
            found[info.name] = self._unneeded.get(info.name, now)
        self._unneeded = found


def _waste(option: _Option) -> float:
    """The mean of the shares of CPU and memory of the new nodes that stay free."""
    allocatable = option.group.pool.template.status.allocatable
    cpu = milli_value(allocatable.get("cpu", 0)) * option.nodes
    memory = value(allocatable.get("memory", 0)) * option.nodes
    used_cpu = sum(pod.template.requests.get("cpu", 0) for pod in option.pods)
    used_memory = sum(pod.template.requests.get("memory", 0) for pod in option.pods)
    shares = [1 - used / whole for used, whole in ((used_cpu, cpu), (used_memory, memory)) if whole]
    return sum(shares) / len(shares) if shares else 0.0
