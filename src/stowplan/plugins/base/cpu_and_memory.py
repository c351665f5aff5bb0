"""Cpu and memory of many nodes with one more pod on them, worked out once for the two plugins that ask.

NodeResourcesFit and NodeResourcesBalancedAllocation, as they are configured by default, compare the same amounts for
nearly every pod. What such a pass costs is the number of array operations, so both are made of the same few.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.cache.columns import Floats
from stowplan.cache.nodes import NodeTable
from stowplan.cache.requests import scoring_requests
from stowplan.framework import Mask, Nodes, PodTemplate, Scores
from stowplan.plugins.base.node_facts import BASES, DIVISORS, FREE, HANDICAP, NodeFacts

LEAST_ALLOCATED = "least allocated"
"""The score by LeastAllocated of cpu and memory, both counting alike."""
BALANCED = "balanced"
"""The score 50 + (50 + evenness with the pod - evenness without it) / 2, where evenness is 100 x (1 - half the
difference of the fractions in use)."""

Points = NDArray[np.int32]

_LEAST = np.array([[0.0], [-0.5], [0.0], [-0.5]])
"""No percentage goes below 0; no fraction, negated and halved, below one half."""


_pack = Struct("6d").pack
"""Floats that NumPy reads in place: for so few it takes longer to look at a list of them."""


class CpuAndMemory:
    """One for each cluster: `nodes.derive(CpuAndMemory)`. Not to be asked during a what-if, which facts do not show."""

    def __init__(self, nodes: NodeTable) -> None:
        self._facts = NodeFacts(nodes)

    def applicable(self) -> bool:
        """Whether every node has cpu and memory, and neither so much of it that floats would not do."""
        self._facts.refresh()
        return self._facts.exact

    def fits(self, template: PodTemplate, nodes: Nodes) -> Mask:
        """Whether the pod's cpu, its memory and itself find room."""
        enough = self._facts.of(nodes)[FREE] >= template.derive(self, _terms)[FREE]
        passing: Mask = enough[0]
        passing &= enough[1]
        return passing

    def total(self, template: PodTemplate, nodes: Nodes, weights: Mapping[str, int]) -> NDArray[Any] | None:
        """Both scores with their weights, where this is applicable."""
        if not self.applicable():
            return None
        least, balanced = self._points(template, nodes)
        weight, other = weights.get(LEAST_ALLOCATED, 0), weights.get(BALANCED, 0)
        if weight == other == 1:
            return least + balanced
        return weight * least.astype(np.int64) + other * balanced.astype(np.int64)

    def scores(self, part: str, template: PodTemplate, nodes: Nodes) -> Scores:
        """One of them, where this is applicable."""
        least, balanced = self._points(template, nodes)
        return (least if part == LEAST_ALLOCATED else balanced).astype(np.int64)

    def _points(self, template: PodTemplate, nodes: Nodes) -> tuple[Points, Points]:
        """LEAST_ALLOCATED and BALANCED."""
        facts = self._facts.of(nodes)
        shares = facts[BASES] + template.derive(self, _terms)[BASES]
        shares /= facts[DIVISORS]
        np.maximum(shares, _LEAST, out=shares)
        evenness = shares[1]
        evenness -= shares[3]
        np.abs(evenness, out=evenness)
        np.subtract(1.0, evenness, out=evenness)
        evenness *= 100.0
        # Cut to integers, then halved and cut again; 32 bits are ample and take half the time.
        points = shares[:3].astype(np.int32)
        points[0] += points[2]
        points[1] += facts[HANDICAP].astype(np.int32)
        both = points[:2]
        both >>= 1
        return both[0], both[1]


def _terms(template: PodTemplate) -> Floats:
    """What a pod of the template demands of the free amounts, and what it adds to the bases; one below the other."""
    cpu, memory = template.requests.get("cpu", 0), template.requests.get("memory", 0)
    filled = scoring_requests(template)
    # Who asks for nothing is not held up by nodes that promise more than they have.
    demands = (cpu or -inf, memory or -inf)
    packed = _pack(*demands, -100 * filled["cpu"], -cpu, -100 * filled["memory"], -memory)
    return np.frombuffer(packed).reshape(6, 1)
