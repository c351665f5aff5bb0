"""NodeResourcesBalancedAllocation: nodes whose resources would be used more evenly with the pod than without it."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import ALLOCATABLE, REQUESTED, Column, Floats
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import is_scalar_resource
from stowplan.config.args import NodeResourcesBalancedAllocationArgs
from stowplan.framework import CycleState, Handle, NodeInfo, Nodes, Pod, PodTemplate, Scores, Status, error, skip
from stowplan.plugins.base import InTreePlugin

NAME = "NodeResourcesBalancedAllocation"

_FEW = 16
"""Up to so many nodes plain ints are cheaper than vectors."""


class Part(NamedTuple):
    """One resource: where its amounts are, and what the pod adds to them."""

    allocatable: Column
    requested: Column
    request: int


class NodeResourcesBalancedAllocation(InTreePlugin):
    """Scores 75 where the balance stays, up to 100 where it improves, down to 50 where it suffers."""

    name = NAME
    scope = "node+pods"
    template_only = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._resources = tuple(spec.name for spec in args.resources)
        self._before: dict[tuple[int, ...], Before] = {}

    def concerns(self, template: PodTemplate) -> bool:
        return not self._resources or any(template.requests.get(name, 0) for name in self._resources)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        if not self._resources:
            return error("resources not found")
        return None if self.concerns(pod.template) else skip()

    def slot_scorer(self, template: PodTemplate) -> Callable[[int], int]:
        return template.derive((self, "scorer"), self._make_scorer)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return self.slot_scorer(pod.template)(node.slot)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        parts = self._parts(pod.template)
        after = _balance_of_nodes(self.nodes, parts, nodes, with_pod=True)
        after += self._before_of(parts).handicaps(nodes)
        after >>= 1
        after += 50
        return after

    def _parts(self, template: PodTemplate) -> tuple[Part, ...]:
        return template.derive(self, self._make_parts)

    def _make_parts(self, template: PodTemplate) -> tuple[Part, ...]:
        requests = {name: template.requests.get(name, 0) for name in self._resources}
        return tuple(
            Part(self.nodes.resource(name)[0], self.nodes.resource(name)[1], request)
            for name, request in requests.items()
            if request or not is_scalar_resource(name)
        )

    def _make_scorer(self, template: PodTemplate) -> Callable[[int], int]:
        parts = tuple((p.allocatable.values, p.requested.values, p.request) for p in self._parts(template))

        def score(slot: int) -> int:
            before, after = [], []
            for allocatable, requested, request in parts:
                capacity = allocatable[slot]
                if capacity:
                    used = requested[slot]
                    total = used + request
                    before.append(used / capacity if used < capacity else 1.0)
                    after.append(total / capacity if total < capacity else 1.0)
            return 50 + (50 + _balance(after) - _balance(before)) // 2

        return score

    def _before_of(self, parts: tuple[Part, ...]) -> Before:
        key = tuple(id(part.allocatable) for part in parts)
        before = self._before.get(key)
        if before is None:
            before = self._before[key] = Before(self, parts)
        return before


class Before:
    """The balance of every node as it is, for one choice of resources: the same for all pods, so kept between them."""

    def __init__(self, plugin: NodeResourcesBalancedAllocation, parts: tuple[Part, ...]) -> None:
        self._nodes = plugin.nodes
        self._parts = tuple(part._replace(request=0) for part in parts)
        self._position = 0
        self._scores: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def handicaps(self, nodes: Nodes) -> NDArray[np.int64]:
        """50 less the balance, which is what the balance with the pod is set against."""
        log = self._nodes.log
        if len(self._scores) != self._nodes.capacity:
            self._scores = np.zeros(self._nodes.capacity, dtype=np.int64)
            self._position = 0
        recent = log.since(self._position)
        if recent is not None and len(recent) <= _FEW:
            for slot in recent:
                self._scores[slot] = 50 - self._score(slot)
        else:
            changed = log.changed_since(self._position) if self._position else np.arange(self._nodes.high)
            self._scores[changed] = 50 - _balance_of_nodes(
                self._nodes, self._parts, self._nodes.subset(changed), with_pod=False
            )
        self._position = log.position
        return nodes.read(self._scores)

    def _score(self, slot: int) -> int:
        amounts = ((part.requested.values[slot], part.allocatable.values[slot]) for part in self._parts)
        return _balance([min(used / capacity, 1.0) for used, capacity in amounts if capacity])


def _balance(fractions: list[float]) -> int:
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = sqrt(sum((fraction - mean) * (fraction - mean) for fraction in fractions) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)


def _balance_of_nodes(table: NodeTable, parts: tuple[Part, ...], nodes: Nodes, *, with_pod: bool) -> NDArray[np.int64]:
    if [part.allocatable for part in parts] == [*table.sheet.columns[ALLOCATABLE]] and all(
        table.everywhere(part.allocatable) for part in parts
    ):
        return _balance_of_cpu_and_memory(table, parts, nodes, with_pod)
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


def _balance_of_cpu_and_memory(
    table: NodeTable, parts: tuple[Part, ...], nodes: Nodes, with_pod: bool
) -> NDArray[np.int64]:
    """The default pair of resources, both at once."""
    sheet = nodes.read_rows(table.sheet.data)
    fractions = sheet[REQUESTED] + np.array([[part.request if with_pod else 0] for part in parts], dtype=np.float64)
    fractions /= sheet[ALLOCATABLE]
    np.minimum(fractions, 1.0, out=fractions)
    deviation: Floats = fractions[0]
    deviation -= fractions[1]
    deviation *= 0.5
    np.abs(deviation, out=deviation)
    np.subtract(1.0, deviation, out=deviation)
    deviation *= 100.0
    return deviation.astype(np.int64)


def _deviation(fractions: list[tuple[Floats, Floats]], count: int) -> Floats:
    """The general case: any number of resources, some of which some nodes do not have."""
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
    """|first - second| / 2 over the two resources that a node has, computed in upstream's own order of operations."""
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
