"""A model of Karpenter: the cheapest nodes for a batch of pods, and consolidation.

Pods of a batch are packed on the largest node type that takes them, the largest pods first; each node is then launched
as the cheapest type on which all its pods fit.

Upstream: sigs.k8s.io/karpenter/pkg/controllers/provisioning, pkg/controllers/disruption
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from stowplan import api
from stowplan.api.quantity import milli_value, value
from stowplan.framework import Pod
from stowplan.simulator.api_server import StepOrder
from stowplan.simulator.autoscaler.estimator import Estimator
from stowplan.simulator.autoscaler.movable import by_use, disruptable_pods
from stowplan.simulator.autoscaler.node_groups import NodeGroup, NodeGroups
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.simulation import Simulation

CONSOLIDATION_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized")
_POLL_SECONDS = 1.0
_DISRUPTION_SECONDS = 10.0


class KarpenterSettings(NamedTuple):
    """Settings of Karpenter; times in seconds."""

    batch_idle_duration: float = 1.0
    batch_max_duration: float = 10.0
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    consolidate_after: float = 0.0
    budget: float = 0.1
    expire_after: float = math.inf
    max_node_provision_time: float = 900.0


class Karpenter:
    """Launches nodes for pods that the scheduler refused, and removes those that are not needed."""

    def __init__(self, simulation: Simulation, groups: NodeGroups, settings: KarpenterSettings) -> None:
        self._simulation = simulation
        self._groups = groups
        self._settings = settings
        self._estimator = Estimator(simulation.engine)
        self._batch_began: float | None = None
        self._batch_changed = 0.0
        self._batch: frozenset[str] = frozenset()
        self._quiet_since: dict[str, tuple[int, float]] = {}
        """By node: its number of pods, and since when it is unchanged."""
        self._added: dict[str, float] = {}

    def begin(self) -> None:
        now = self._simulation.clock.now
        for group in self._groups.groups:
            self._added.update(dict.fromkeys(group.nodes, now))
        self._at(_POLL_SECONDS, self._poll)
        self._at(_DISRUPTION_SECONDS, self._disrupt)

    def _at(self, delay: float, step: Callable[[], None]) -> None:
        server = self._simulation.api_server
        server.at(to_microseconds(server.clock() + delay), step, StepOrder.AUTOSCALER)

    # Provisioning
    def _poll(self) -> None:
        """The batch ends when no pod came for the idle duration, or after the maximum duration."""
        self._at(_POLL_SECONDS, self._poll)
        now = self._simulation.clock.now
        pods = self._estimator.refused_pods(now, 0.0)
        if not pods:
            self._batch_began = None
            return
        uids = frozenset(pod.uid for pod in pods)
        if self._batch_began is None:
            self._batch_began = self._batch_changed = now
        elif uids - self._batch:
            self._batch_changed = now
        self._batch = uids
        settings = self._settings
        idle = now - self._batch_changed >= settings.batch_idle_duration
        if idle or now - self._batch_began >= settings.batch_max_duration:
            self._batch_began = None
            self._simulation.settle()
            self._provision(pods)
            self._simulation.settle()

    def _provision(self, pods: list[Pod]) -> None:
        for group in self._groups.groups:
            if group.upcoming and pods:
                pods = self._estimator.pack(pods, group.template_node, len(group.upcoming)).left
        by_size = sorted(self._groups.groups, key=lambda group: _size(group.pool.template), reverse=True)
        for group in by_size:
            room = group.high - group.size
            if not pods or room <= 0:
                continue
            packing = self._estimator.pack(pods, group.template_node, room)
            pods = packing.left
            for together in packing.nodes:
                self._launch(self._cheapest(together, group))

    def _cheapest(self, pods: list[Pod], fallback: NodeGroup) -> NodeGroup:
        for group in sorted(self._groups.groups, key=lambda group: (group.pool.price, group.name)):
            if group.size < group.high and self._estimator.all_fit(pods, group.template_node(0)):
                return group
        return fallback

    def _launch(self, group: NodeGroup) -> None:
        before = set(group.nodes)
        self._groups.add(group, 1, self._settings.max_node_provision_time, 0.0)
        self._added.update(dict.fromkeys(set(group.nodes) - before, self._simulation.clock.now))

    # Disruption
    def _disrupt(self) -> None:
        self._at(_DISRUPTION_SECONDS, self._disrupt)
        self._simulation.settle()
        now = self._simulation.clock.now
        self._note_changes(now)
        nodes = sum(len(group.nodes) for group in self._groups.groups)
        leaving = sum(len(group.leaving) for group in self._groups.groups)
        allowed = math.ceil(nodes * self._settings.budget) - leaving
        for remove in (self._expire, self._remove_empty, self._consolidate):
            if allowed > 0:
                allowed -= remove(now, allowed)
        self._simulation.settle()

    def _note_changes(self, now: float) -> None:
        nodes = self._simulation.engine.cluster.nodes
        present: dict[str, tuple[int, float]] = {}
        for group in self._groups.groups:
            for name in group.nodes:
                info = nodes.get(name)
                if info is not None and name not in group.upcoming:
                    count = len(info.pods)
                    before = self._quiet_since.get(name)
                    present[name] = before if before is not None and before[0] == count else (count, now)
        self._quiet_since = present
        self._added = {name: time for name, time in self._added.items() if self._groups.group_of(name) is not None}

    def _candidates(self) -> list[tuple[NodeGroup, str]]:
        return [
            (group, name)
            for group in self._groups.groups
            if group.size > group.low
            for name in group.nodes
            if name not in group.upcoming and name not in group.leaving
        ]

    def _expire(self, now: float, allowed: int) -> int:
        old = [
            (group, name)
            for group, name in self._candidates()
            if now - self._added.get(name, now) >= self._settings.expire_after
        ]
        for group, name in old[:allowed]:
            self._groups.remove(group, name, "expired")
        return min(allowed, len(old))

    def _is_quiet(self, name: str, now: float) -> bool:
        return name in self._quiet_since and now - self._quiet_since[name][1] >= self._settings.consolidate_after

    def _remove_empty(self, now: float, allowed: int) -> int:
        removed = 0
        for group, name in self._candidates():
            pods = disruptable_pods(self._simulation.api_server, self._groups.lifecycle, name)
            if removed < allowed and pods == [] and self._is_quiet(name, now) and group.size > group.low:
                self._groups.remove(group, name, "consolidation")
                removed += 1
        return removed

    def _consolidate(self, now: float, allowed: int) -> int:
        """Remove one node whose pods fit elsewhere, or on one cheaper node."""
        if self._settings.consolidation_policy != "WhenEmptyOrUnderutilized" or self._batch_began is not None:
            return 0
        if any(group.upcoming or group.leaving for group in self._groups.groups):
            return 0
        nodes = self._simulation.engine.cluster.nodes
        groups = {name: group for group, name in self._candidates()}
        for info in by_use(info for name in groups if (info := nodes.get(name)) is not None):
            group = groups[info.name]
            pods = disruptable_pods(self._simulation.api_server, self._groups.lifecycle, info.name)
            if not pods or not self._is_quiet(info.name, now):
                continue
            if self._estimator.fit_elsewhere(info.name, pods) is not None:
                self._groups.remove(group, info.name, "consolidation")
                return 1
            cheaper = self._cheaper(group, info.name, pods)
            if cheaper is not None:
                self._launch(cheaper)
                self._groups.remove(group, info.name, "consolidation")
                return 1
        return 0

    def _cheaper(self, group: NodeGroup, name: str, pods: list[api.Pod]) -> NodeGroup | None:
        for other in sorted(self._groups.groups, key=lambda each: (each.pool.price, each.name)):
            if other.pool.price >= group.pool.price or other.size >= other.high:
                continue
            if self._estimator.fit_elsewhere(name, pods, other.template_node(0)) is not None:
                return other
        return None


def _size(node: api.Node) -> tuple[int, int]:
    allocatable = node.status.allocatable
    return milli_value(allocatable.get("cpu", 0)), value(allocatable.get("memory", 0))
