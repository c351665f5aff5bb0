"""The scoring strategies of NodeResourcesFit, each in plain ints for one node and in columns for many.

The default, LeastAllocated over cpu and memory with equal weights, has a faster vector form that is shared with
NodeResourcesBalancedAllocation: `plugins.base.cpu_and_memory`. The functions here are its definition; property tests
compare them.

Upstream:
pkg/scheduler/framework/plugins/noderesources/{least_allocated,most_allocated,requested_to_capacity_ratio,resource_allocation}.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.cache.columns import Column, Floats
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import is_scalar_resource, scoring_requests
from stowplan.config.args import LEAST_ALLOCATED, MOST_ALLOCATED, ScoringStrategy
from stowplan.plugins.base import EXACT_IN_FLOAT, LEAST_ALLOCATED_PART, CpuAndMemory

Ints = NDArray[np.int64]


class WeightedResource(NamedTuple):
    """One resource to score: its columns, and the amount that the pod adds."""

    allocatable: Column
    allocated: Column
    request: int
    weight: int


def least_allocated(requested: int, allocatable: int) -> int:
    return (allocatable - requested) * 100 // allocatable if requested <= allocatable else 0


def most_allocated(requested: int, allocatable: int) -> int:
    return min(requested, allocatable) * 100 // allocatable


def least_allocated_nodes(requested: Floats, allocatable: Floats, everywhere: bool) -> Ints:
    np.subtract(allocatable, requested, out=requested)
    np.maximum(requested, 0.0, out=requested)
    return _percent(requested, allocatable, everywhere)


def most_allocated_nodes(requested: Floats, allocatable: Floats, everywhere: bool) -> Ints:
    np.minimum(requested, allocatable, out=requested)
    return _percent(requested, allocatable, everywhere)


def _percent(amounts: Floats, allocatable: Floats, everywhere: bool) -> Ints:
    """100 x amount / allocatable, truncated; 0 for nodes without the resource. Overwrites the amounts."""
    amounts *= 100.0
    if everywhere:
        amounts /= allocatable
    else:
        amounts = np.divide(amounts, allocatable, out=np.zeros(len(amounts)), where=allocatable > 0)
    return amounts.astype(np.int64)


class Shape:
    """The piecewise linear function of RequestedToCapacityRatio from utilization (0..100) to score (0..100), as a
    table."""

    def __init__(self, strategy: ScoringStrategy) -> None:
        param = strategy.requested_to_capacity_ratio
        points = [(point.utilization, point.score * 10) for point in (param.shape if param else ())]
        self.values = [_on_line(points, percent) for percent in range(101)]
        self.array = np.array(self.values, dtype=np.int64)

    def score(self, requested: int, allocatable: int) -> int:
        return self.values[100 if requested > allocatable else requested * 100 // allocatable]

    def score_nodes(self, requested: Floats, allocatable: Floats, everywhere: bool) -> Ints:
        return self.array[most_allocated_nodes(requested, allocatable, everywhere)]


def _on_line(points: list[tuple[int, int]], percent: int) -> int:
    for i, (x, y) in enumerate(points):
        if percent <= x:
            if i == 0:
                return y
            x0, y0 = points[i - 1]
            rise = (y - y0) * (percent - x0)
            return y0 + (rise // (x - x0) if rise >= 0 else -(-rise // (x - x0)))
    return points[-1][1] if points else 0


class StrategyScorer:
    """The configured strategy over the configured resources."""

    def __init__(self, config: ScoringStrategy, nodes: NodeTable, cpu_and_memory: CpuAndMemory) -> None:
        self._config = config
        self._nodes = nodes
        self._shape: Shape | None = None
        resources = [(spec.name, spec.weight) for spec in config.resources]
        self.is_default = config.type == LEAST_ALLOCATED and resources == [("cpu", 1), ("memory", 1)]
        """Whether this is kube-scheduler's default, which `CpuAndMemory` computes for many nodes."""
        self._resources = cpu_and_memory
        self._one: Callable[[int, int], int]
        self._many: Callable[[Floats, Floats, bool], Ints]
        if config.type == LEAST_ALLOCATED:
            self._one, self._many = least_allocated, least_allocated_nodes
        elif config.type == MOST_ALLOCATED:
            self._one, self._many = most_allocated, most_allocated_nodes
        else:
            self._shape = Shape(config)
            self._one, self._many = self._shape.score, self._shape.score_nodes

    def requests(self, template: fwk.PodTemplate) -> tuple[int, ...]:
        """The part of a template that scoring reads: its request for each configured resource."""
        return tuple(part.request for part in self._parts(template))

    def scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        """The score of one node as a function of its slot; specialised for the default configuration."""
        return template.derive((self, "scorer"), self._make_scorer)

    def _make_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        general = self._make_general_scorer(template)
        if not self.is_default:
            return general
        cpu, memory = self._parts(template)
        cpus, used_cpus, requested_cpu = cpu.allocatable.values, cpu.allocated.values, cpu.request
        memories, used_memories, requested_memory = memory.allocatable.values, memory.allocated.values, memory.request

        def score(slot: int) -> int:
            cpu, memory = cpus[slot], memories[slot]
            if not cpu or not memory:
                return general(slot)
            free_cpu = cpu - used_cpus[slot] - requested_cpu
            free_memory = memory - used_memories[slot] - requested_memory
            points = free_cpu * 100 // cpu if free_cpu > 0 else 0
            if free_memory > 0:
                points += free_memory * 100 // memory
            return points >> 1

        return score

    def _make_general_scorer(self, template: fwk.PodTemplate) -> Callable[[int], int]:
        parts = tuple((p.allocatable.values, p.allocated.values, p.request, p.weight) for p in self._parts(template))
        one, shaped = self._one, self._shape is not None

        def score(slot: int) -> int:
            total = weights = 0
            for allocatable, allocated, request, weight in parts:
                capacity = allocatable[slot]
                if capacity:
                    points = one(allocated[slot] + request, capacity)
                    if points or not shaped:
                        total += points * weight
                        weights += weight
            if not weights:
                return 0
            return int(total / weights + 0.5) if shaped else total // weights

        return score

    def score_nodes(self, template: fwk.PodTemplate, nodes: fwk.Nodes, *, kept: bool = True) -> fwk.Scores:
        """The scores of many nodes. Kept facts about nodes are not valid during a what-if."""
        if kept and self.is_default and self._resources.applicable():
            return self._resources.scores(LEAST_ALLOCATED_PART, template, nodes)
        parts = self._parts(template)
        if any(part.allocatable.widest >= EXACT_IN_FLOAT for part in parts):
            score = self.scorer(template)
            return np.array([score(slot) for slot in _slots(nodes)], dtype=np.int64)
        total: Ints | None = None
        weights: Ints | int = 0
        for part in parts:
            allocatable = nodes.read(part.allocatable.array)
            everywhere = self._nodes.everywhere(part.allocatable)
            scores = self._many(nodes.read(part.allocated.array) + part.request, allocatable, everywhere)
            if self._shape is not None:
                scores *= allocatable > 0
                weights = weights + part.weight * (scores > 0)
            elif everywhere:
                weights = weights + part.weight
            else:
                weights = weights + part.weight * (allocatable > 0)
            if part.weight != 1:
                scores *= part.weight
            total = scores if total is None else total + scores
        if total is None:
            return np.zeros(nodes.count, dtype=np.int64)
        if isinstance(weights, int):
            return total // weights if weights not in (1, 2) else total >> (weights - 1)
        quotients = total / np.maximum(weights, 1)
        return (quotients if self._shape is None else np.floor(quotients + 0.5)).astype(np.int64)

    def score_placement(self, pods: Iterable[fwk.Pod], nodes: fwk.Nodes) -> int:
        """MostAllocated over all nodes together, with the pods on them, whatever the type of the strategy."""
        wanted: Counter[str] = Counter()
        for template, count in Counter(pod.template for pod in pods).items():
            for name, amount in scoring_requests(template).items():
                wanted[name] += count * amount
        slots = nodes.slots().tolist()
        used = {"cpu": self._nodes.non_zero_cpu, "memory": self._nodes.non_zero_memory}
        total = weights = 0
        for spec in self._config.resources:
            if is_scalar_resource(spec.name) and not wanted[spec.name]:
                continue
            allocatable, requested = self._nodes.resource(spec.name)
            allocated = used.get(spec.name, requested)
            there = [slot for slot in slots if allocatable.values[slot]]
            capacity = sum(allocatable.values[slot] for slot in there)
            if capacity:
                amount = wanted[spec.name] + sum(allocated.values[slot] for slot in there)
                total += most_allocated(amount, capacity) * spec.weight
                weights += spec.weight
        return total // weights if weights else 0

    def in_words(self, template: fwk.PodTemplate, slot: int) -> str:
        """The shares of the resources that are requested with the pod: `cpu 40 %, memory 25 % requested with the
        pod`."""
        names = [spec.name for spec in self._config.resources]
        shares = []
        for name, part in zip(
            [name for name in names if self._is_scored(name, template)], self._parts(template), strict=True
        ):
            capacity = part.allocatable.values[slot]
            if capacity:
                shares.append(f"{name} {100 * (part.allocated.values[slot] + part.request) / capacity:.0f} %")
        return f"{', '.join(shares)} requested with the pod" if shares else ""

    def _is_scored(self, name: str, template: fwk.PodTemplate) -> bool:
        return not is_scalar_resource(name) or bool(scoring_requests(template).get(name, 0))

    def _parts(self, template: fwk.PodTemplate) -> tuple[WeightedResource, ...]:
        return template.derive(self, self._make_parts)

    def _make_parts(self, template: fwk.PodTemplate) -> tuple[WeightedResource, ...]:
        nodes = self._nodes
        allocated = {"cpu": nodes.non_zero_cpu, "memory": nodes.non_zero_memory}
        requests = scoring_requests(template)
        parts = []
        for spec in self._config.resources:
            request = requests.get(spec.name, 0)
            if request == 0 and is_scalar_resource(spec.name):
                continue
            allocatable, requested = nodes.resource(spec.name)
            parts.append(WeightedResource(allocatable, allocated.get(spec.name, requested), request, spec.weight))
        return tuple(parts)


def _slots(nodes: fwk.Nodes) -> Iterable[int]:
    """All slots of a subset, holes included."""
    return range(nodes.index.start or 0, nodes.index.stop) if isinstance(nodes.index, slice) else nodes.index.tolist()
