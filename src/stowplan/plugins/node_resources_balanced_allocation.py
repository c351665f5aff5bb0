"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be used more evenly with the pod.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.cache.columns import Column, Floats
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import is_scalar_resource
from stowplan.config.args import NodeResourcesBalancedAllocationArgs
from stowplan.plugins.base import BALANCED_PART, InTreePlugin, SharedScorer, shared_scorer_of

NAME = "NodeResourcesBalancedAllocation"


class ResourceFraction(NamedTuple):
    """One resource: its columns, and the amount that the pod adds."""

    allocatable: Column
    requested: Column
    request: int


class NodeResourcesBalancedAllocation(InTreePlugin):
    """Scores 75 if the balance stays the same, up to 100 if it improves, down to 50 if it gets worse. Before v1.36: 100
    for a node whose resources are used evenly with the pod, down to 50."""

    name = NAME
    scope = "node+pods"
    template_only = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._resources = tuple(spec.name for spec in args.resources)
        self._is_default = set(self._resources) == {"cpu", "memory"}
        """Whether the resources are kube-scheduler's defaults, for which there is a faster computation."""
        self._cpu_and_memory = shared_scorer_of(self.cluster)
        self._improvement = self.cluster.release.rules.balance_improvement
        """Whether the change of the balance counts; otherwise the balance with the pod."""

    def concerns(self, template: fwk.PodTemplate) -> bool:
        for name in self._resources:  # Called for every new template; a generator would be slower.
            if template.requests.get(name, 0):
                return True
        return not self._resources

    def pre_score(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        if not self._resources:
            return fwk.error("resources not found")
        return None if self.concerns(pod.template) else fwk.skip()

    def slot_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        return template.derive((self, "scorer"), self._make_scorer)

    def shared_scorer(self) -> tuple[SharedScorer, str] | None:
        return (self._cpu_and_memory, BALANCED_PART) if self._is_default else None

    def score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> int:
        return self.slot_scorer(pod.template)(node.slot)

    def score_nodes(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Scores:
        if self._is_default and not self.cluster.journal.active and self._cpu_and_memory.applicable():
            return self._cpu_and_memory.scores(BALANCED_PART, pod.template, nodes)
        parts = self._parts(pod.template)
        after = _balance_of_nodes(self.nodes, parts, nodes, with_pod=True)
        if not self._improvement:
            return after
        after += 50 - _balance_of_nodes(self.nodes, parts, nodes, with_pod=False)
        after >>= 1
        after += 50
        return after

    def explain_score(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> str:
        before, after = {}, {}
        for name, part in zip(self._scored(pod.template), self._parts(pod.template), strict=True):
            capacity, used = part.allocatable.values[node.slot], part.requested.values[node.slot]
            if capacity:
                before[name] = min(used / capacity, 1.0)
                after[name] = min((used + part.request) / capacity, 1.0)
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in after.items())
        if len(after) != 2:
            return f"{shares} requested with the pod"
        apart = [f"{100 * abs(one - other):.0f}" for one, other in (tuple(before.values()), tuple(after.values()))]
        return f"{shares} requested with the pod: {apart[1]} points apart, {apart[0]} before"

    def _scored(self, template: fwk.PodTemplate) -> list[str]:
        names = dict.fromkeys(self._resources)
        return [name for name in names if template.requests.get(name, 0) or not is_scalar_resource(name)]

    def _parts(self, template: fwk.PodTemplate) -> tuple[ResourceFraction, ...]:
        return template.derive(self, self._make_parts)

    def _make_parts(self, template: fwk.PodTemplate) -> tuple[ResourceFraction, ...]:
        requests = {name: template.requests.get(name, 0) for name in self._resources}
        return tuple(
            ResourceFraction(self.nodes.resource(name)[0], self.nodes.resource(name)[1], request)
            for name, request in requests.items()
            if request or not is_scalar_resource(name)
        )

    def _make_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        """The scorer of a template; specialised for the default configuration."""
        general = self._make_general_scorer(template)
        if not self._is_default:
            return general
        one, other = self._parts(template)
        cpus, used_cpus, asked_cpu = one.allocatable.values, one.requested.values, one.request
        memories, used_memories, asked_memory = other.allocatable.values, other.requested.values, other.request
        improvement = self._improvement

        def score(slot: int) -> int:
            cpu, memory = cpus[slot], memories[slot]
            if not cpu or not memory:
                return general(slot)
            used_cpu, used_memory = used_cpus[slot], used_memories[slot]
            with_cpu, with_memory = used_cpu + asked_cpu, used_memory + asked_memory
            if with_cpu > cpu or with_memory > memory:
                return general(slot)
            after = int((1 - abs((with_cpu / cpu - with_memory / memory) / 2)) * 100)
            if not improvement:
                return after
            before = int((1 - abs((used_cpu / cpu - used_memory / memory) / 2)) * 100)
            return 50 + (50 + after - before) // 2

        return score

    def _make_general_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        parts = tuple((p.allocatable.values, p.requested.values, p.request) for p in self._parts(template))

        improvement = self._improvement

        def score(slot: int) -> int:
            before, after = [], []
            for allocatable, requested, request in parts:
                capacity = allocatable[slot]
                if capacity:
                    used = requested[slot]
                    total = used + request
                    before.append(used / capacity if used < capacity else 1.0)
                    after.append(total / capacity if total < capacity else 1.0)
            return 50 + (50 + _balance(after) - _balance(before)) // 2 if improvement else _balance(after)

        return score


def _balance(fractions: list[float]) -> int:
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = sqrt(sum((fraction - mean) * (fraction - mean) for fraction in fractions) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)


def _balance_of_nodes(
    table: NodeTable, parts: tuple[ResourceFraction, ...], nodes: fwk.Nodes, *, with_pod: bool
) -> NDArray[np.int64]:
    fractions: list[tuple[Floats, Floats]] = []
    for allocatable, requested, request in parts:
        capacity = nodes.read(allocatable.array)
        used = nodes.read(requested.array) + (request if with_pod else 0)
        if table.everywhere(allocatable):
            used /= capacity
        else:
            used = np.divide(used, capacity, out=np.zeros(nodes.count), where=capacity > 0)
        np.minimum(used, 1.0, out=used)
        fractions.append((used, capacity))
    deviation = _deviation(fractions, nodes.count)
    np.subtract(1.0, deviation, out=deviation)
    deviation *= 100.0
    return deviation.astype(np.int64)


def _deviation(fractions: list[tuple[Floats, Floats]], count: int) -> Floats:
    """The general case: any number of resources, some of which some nodes lack."""
    total = np.zeros(count)
    present = np.zeros(count)
    for fraction, capacity in fractions:
        total += fraction
        present += capacity != 0
    some = np.maximum(present, 1)
    mean = total / some
    squares = np.zeros(count)
    for fraction, capacity in fractions:
        distance = fraction - mean
        squares += np.where(capacity != 0, distance * distance, 0.0)
    deviation: Floats = np.sqrt(squares / some)
    pair = _pair_deviation(fractions, count)
    return np.where(present == 2, pair, np.where(present > 2, deviation, 0.0))


def _pair_deviation(fractions: list[tuple[Floats, Floats]], count: int) -> Floats:
    """|first - second| / 2 over the two resources of a node, in upstream's order of operations."""
    first = np.zeros(count)
    second = np.zeros(count)
    seen = np.zeros(count, dtype=np.int64)
    for fraction, capacity in fractions:
        has = capacity != 0
        np.copyto(first, fraction, where=has & (seen == 0))
        np.copyto(second, fraction, where=has & (seen == 1))
        seen += has
    difference: Floats = np.abs((first - second) / 2)
    return difference
