"""The default scores for cpu and memory, computed for many nodes in one pass.

NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation, in their default configuration, start from the
same amounts for nearly every pod. A pass costs as much as its number of array operations, so both scores share them.

Upstream: pkg/scheduler/framework/plugins/noderesources/least_allocated.go, balanced_allocation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.columns import Floats
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import scoring_requests
from stowplan.plugins.base.node_facts import BALANCE_BASE, BASES, DIVISORS, FREE, NodeFacts

LEAST_ALLOCATED_PART = "least allocated"
"""The score of NodeResourcesFit: LeastAllocated over cpu and memory with equal weights."""
BALANCED_PART = "balanced"
"""The score of NodeResourcesBalancedAllocation: 50 + (50 + balance with the pod - balance without it) / 2, or in
earlier releases the balance with the pod, where balance is 100 x (1 - half the difference of the fractions in use)."""

Points = NDArray[np.int32]

_LOWER_BOUNDS = np.array([[0.0], [0.0], [-0.5], [-0.5]])
"""Lower bounds: 0 for a percentage; -1/2 for a negated and halved fraction."""
_LOWEST_PERCENTAGE, _LOWEST_FRACTION, _UNBOUNDED = np.array(0.0), np.array(-0.5), np.array(inf)
_WHOLE, _PERCENT, _HALF = np.array(1.0), np.array(100.0), np.array(1, dtype=np.int32)
"""Operands as arrays: NumPy converts a Python number in each operation, which takes as long as 300 nodes."""
_MIN_NODES_TO_CLIP = 2500
"""Number of nodes from which on `clip`, by halves, takes less time than `maximum`: half of it for 5,000."""


_pack = Struct("6d").pack
"""NumPy reads the floats in place, which for six numbers is faster than converting a list."""


class CpuAndMemory:
    """One for each cluster: `shared_scorer_of`. Not valid during a what-if, which the facts do not
    reflect."""

    def __init__(self, nodes: NodeTable) -> None:
        self._facts = NodeFacts(nodes)

    def applicable(self) -> bool:
        """Whether all nodes have cpu and memory, in amounts that floats represent exactly."""
        self._facts.refresh(None)
        return self._facts.exact

    def fits(self, template: fwk.PodTemplate, nodes: fwk.Nodes) -> fwk.Mask:
        """The nodes with room for the pod's cpu, its memory and one more pod."""
        enough = self._facts.of(nodes)[FREE] >= template.derive(self, _terms)[FREE]
        passing: fwk.Mask = enough[0]
        passing &= enough[1]
        return passing

    def total(self, template: fwk.PodTemplate, nodes: fwk.Nodes, weights: Mapping[str, int]) -> NDArray[Any] | None:
        """The weighted sum of both scores; None if not applicable."""
        facts = self._facts.of(nodes)
        if not self._facts.exact:
            return None
        least, balanced = self._points(template, facts)
        weight, other = weights.get(LEAST_ALLOCATED_PART, 0), weights.get(BALANCED_PART, 0)
        if weight == other == 1:
            return least + balanced
        return weight * least.astype(np.int64) + other * balanced.astype(np.int64)

    def scores(self, part: str, template: fwk.PodTemplate, nodes: fwk.Nodes) -> fwk.Scores:
        """One of the scores; only if applicable."""
        least, balanced = self._points(template, self._facts.of(nodes))
        return (least if part == LEAST_ALLOCATED_PART else balanced).astype(np.int64)

    def _points(self, template: fwk.PodTemplate, facts: Floats) -> tuple[Points, Points]:
        """The scores LeastAllocated and BalancedAllocation."""
        shares = facts[BASES] + template.derive(self, _terms)[BASES]
        pairs = shares.reshape(2, 2, -1)
        pairs /= facts[DIVISORS]
        if facts.shape[1] < _MIN_NODES_TO_CLIP:
            np.maximum(shares, _LOWER_BOUNDS, out=shares)
        else:
            percentages, fractions = shares[:2], shares[2:]
            percentages.clip(_LOWEST_PERCENTAGE, _UNBOUNDED, out=percentages)
            fractions.clip(_LOWEST_FRACTION, _UNBOUNDED, out=fractions)
        evenness = shares[2]
        evenness -= shares[3]
        np.abs(evenness, out=evenness)
        np.subtract(_WHOLE, evenness, out=evenness)
        evenness *= _PERCENT
        # Truncated, then halved and truncated again. 32 bits are sufficient and take half the time.
        return self._combined(shares[:3].astype(np.int32), facts)

    def _combined(self, points: Points, facts: Floats) -> tuple[Points, Points]:
        """The scores from the percentages of free cpu and memory, and the balance with the pod."""
        least, balanced, both = points[1], points[2], points[1:]
        least += points[0]
        balanced += facts[BALANCE_BASE].astype(np.int32)
        both >>= _HALF
        return least, balanced


class CpuAndMemoryWithBalance(CpuAndMemory):
    """The same with the earlier score of NodeResourcesBalancedAllocation: the balance with the pod."""

    def _combined(self, points: Points, facts: Floats) -> tuple[Points, Points]:
        least: Points = points[0]
        least += points[1]
        least >>= _HALF
        return least, points[2]


def shared_scorer_of(cluster: Cluster) -> CpuAndMemory:
    """The scorer that all plugins of the cluster share."""
    improvement = cluster.release.rules.balance_improvement
    made: CpuAndMemory = cluster.nodes.derive(CpuAndMemory if improvement else CpuAndMemoryWithBalance)
    return made


def _terms(template: fwk.PodTemplate) -> Floats:
    """For a template: the amounts that must be free, and the amounts that are added to the bases; as a column."""
    cpu, memory = template.requests.get("cpu", 0), template.requests.get("memory", 0)
    filled = scoring_requests(template)
    # A pod without a request for a resource fits on overcommitted nodes.
    demands = (cpu or -inf, memory or -inf)
    packed = _pack(*demands, -100 * filled["memory"], -100 * filled["cpu"], memory / -2, cpu / -2)
    return np.frombuffer(packed).reshape(6, 1)
