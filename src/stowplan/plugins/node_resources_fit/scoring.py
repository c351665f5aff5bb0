"""The three scoring strategies of NodeResourcesFit, each in plain ints for one node and in columns for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import Column
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import is_scalar_resource, scoring_requests
from stowplan.config.args import LEAST_ALLOCATED, MOST_ALLOCATED, ScoringStrategy
from stowplan.framework import Nodes, PodTemplate, Scores

EXACT_IN_FLOAT = 1 << 46
"""Up to here 100 x amount and the quotient of two amounts, cut to an integer, are exact in a float."""

Ints = NDArray[np.int64]


class Part(NamedTuple):
    """One resource to score: where its amounts are, and what the pod adds to them."""

    allocatable: Column
    allocated: Column
    request: int
    weight: int


def least_allocated(requested: int, allocatable: int) -> int:
    return (allocatable - requested) * 100 // allocatable if requested <= allocatable else 0


def most_allocated(requested: int, allocatable: int) -> int:
    return min(requested, allocatable) * 100 // allocatable


def least_allocated_nodes(requested: Ints, allocatable: Ints) -> Ints:
    free = allocatable - requested
    free *= 100
    return _percent(free, allocatable)


def most_allocated_nodes(requested: Ints, allocatable: Ints) -> Ints:
    return _percent(np.minimum(requested, allocatable) * 100, allocatable)


def _percent(amounts: Ints, allocatable: Ints) -> Ints:
    """amounts / allocatable, cut to integers; negative amounts count as zero, and so does a node that has nothing."""
    if int(allocatable.max(initial=0)) < EXACT_IN_FLOAT:
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = amounts / allocatable
        if amounts.min(initial=0) < 0 or allocatable.min(initial=1) == 0:
            np.copyto(quotients, 0.0, where=(amounts < 0) | (allocatable == 0))
        return quotients.astype(np.int64)
    safe = np.maximum(allocatable, 1)
    return np.maximum(amounts, 0) // safe * (allocatable > 0)


class Shape:
    """RequestedToCapacityRatio's broken line from utilization (0..100) to score (0..100), as a table."""

    def __init__(self, strategy: ScoringStrategy) -> None:
        param = strategy.requested_to_capacity_ratio
        points = [(point.utilization, point.score * 10) for point in (param.shape if param else ())]
        self.values = [_on_line(points, percent) for percent in range(101)]
        self.array = np.array(self.values, dtype=np.int64)

    def score(self, requested: int, allocatable: int) -> int:
        return self.values[100 if requested > allocatable else requested * 100 // allocatable]

    def score_nodes(self, requested: Ints, allocatable: Ints) -> Ints:
        percent = _percent(np.minimum(requested, allocatable) * 100, allocatable)
        return self.array[percent]


def _on_line(points: list[tuple[int, int]], percent: int) -> int:
    for i, (x, y) in enumerate(points):
        if percent <= x:
            if i == 0:
                return y
            x0, y0 = points[i - 1]
            rise = (y - y0) * (percent - x0)
            return y0 + (rise // (x - x0) if rise >= 0 else -(-rise // (x - x0)))
    return points[-1][1] if points else 0


class Strategy:
    """The configured strategy over the configured resources."""

    def __init__(self, config: ScoringStrategy, nodes: NodeTable) -> None:
        self._config = config
        self._nodes = nodes
        self._shape: Shape | None = None
        self._one: Callable[[int, int], int]
        self._many: Callable[[Ints, Ints], Ints]
        if config.type == LEAST_ALLOCATED:
            self._one, self._many = least_allocated, least_allocated_nodes
        elif config.type == MOST_ALLOCATED:
            self._one, self._many = most_allocated, most_allocated_nodes
        else:
            self._shape = Shape(config)
            self._one, self._many = self._shape.score, self._shape.score_nodes

    def requests(self, template: PodTemplate) -> tuple[int, ...]:
        """What scoring reads of a template: its request for each configured resource."""
        return tuple(part.request for part in self._parts(template))

    def scorer(self, template: PodTemplate) -> Callable[[int], int]:
        """The score of one node, bound to a template."""
        return template.derive((self, "scorer"), self._make_scorer)

    def _make_scorer(self, template: PodTemplate) -> Callable[[int], int]:
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

    def score_nodes(self, template: PodTemplate, nodes: Nodes) -> Scores:
        index = nodes.index
        total: Ints = np.zeros(nodes.count, dtype=np.int64)
        weights: Ints | int = 0
        for part in self._parts(template):
            allocatable = part.allocatable.array[index]
            scores = self._many(part.allocated.array[index] + part.request, allocatable)
            if self._shape is not None:
                scores *= allocatable > 0
                weights = weights + part.weight * (scores > 0)
            elif allocatable.min(initial=1) > 0:
                weights = weights + part.weight
            else:
                weights = weights + part.weight * (allocatable > 0)
            total += scores * part.weight if part.weight != 1 else scores
        if isinstance(weights, int):
            return total // weights if weights not in (1, 2) else total >> (weights - 1)
        quotients = total / np.maximum(weights, 1)
        return (quotients if self._shape is None else np.floor(quotients + 0.5)).astype(np.int64)

    def _parts(self, template: PodTemplate) -> tuple[Part, ...]:
        return template.derive(self, self._make_parts)

    def _make_parts(self, template: PodTemplate) -> tuple[Part, ...]:
        nodes = self._nodes
        allocated = {"cpu": nodes.non_zero_cpu, "memory": nodes.non_zero_memory}
        requests = scoring_requests(template.spec)
        parts = []
        for spec in self._config.resources:
            request = requests.get(spec.name, 0)
            if request == 0 and is_scalar_resource(spec.name):
                continue
            allocatable, requested = nodes.resource(spec.name)
            parts.append(Part(allocatable, allocated.get(spec.name, requested), request, spec.weight))
        return tuple(parts)
