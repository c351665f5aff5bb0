"""Sampling of nodes: percentageOfNodesToScore, in kube-scheduler's order of nodes.

Nodes are taken zone by zone in turn, starting where the last search stopped, until enough of them fit. With columns all
nodes cost little more than some, so this is done only if it is configured.

Upstream: pkg/scheduler/schedule_one.go (numFeasibleNodesToFind), pkg/scheduler/backend/cache/node_tree.go
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.framework import Slots

MIN_FEASIBLE_NODES = 100
"""The least number of feasible nodes to find (minFeasibleNodesToFind)."""


_MIN_PERCENTAGE = 5


class Rotation:
    """The node at which the next search starts (nextStartNodeIndex); shared by all profiles."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._membership = -1
        self._ranks: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.start = 0

    def advance(self, evaluated: int) -> None:
        self.start = (self.start + evaluated) % max(1, len(self._nodes))

    def turns(self, slots: Slots) -> NDArray[np.intp]:
        """By slot, its position in the order of a search that starts now."""
        if self._membership != self._nodes.membership:
            self._membership = self._nodes.membership
            self._ranks = np.zeros(self._nodes.capacity, dtype=np.intp)
            for rank, slot in enumerate(zone_interleaved(self._nodes)):
                self._ranks[slot] = rank
        return (self._ranks[slots] - self.start) % len(self._nodes)


class Sampler:
    """The percentage of nodes that a profile scores; 0 for kube-scheduler's adaptive percentage."""

    def __init__(self, percentage: int, rotation: Rotation) -> None:
        self._percentage = percentage
        self.rotation = rotation

    def wanted(self, candidates: int) -> int:
        """The number of feasible nodes that are enough."""
        if candidates < MIN_FEASIBLE_NODES:
            return candidates
        percentage = self._percentage or max(_MIN_PERCENTAGE, 50 - candidates // 125)
        return max(MIN_FEASIBLE_NODES, candidates * percentage // 100)

    def pick(self, feasible: Slots, candidates: int) -> tuple[Slots, int]:
        """(the feasible nodes that are found first, the number of nodes filtered for that)."""
        wanted = self.wanted(candidates)
        if len(feasible) <= wanted:
            return feasible, candidates
        turns = self.rotation.turns(feasible)
        first = np.sort(np.argpartition(turns, wanted - 1)[:wanted])
        return feasible[first], int(turns[first].max()) + 1


def zone_interleaved(nodes: NodeTable) -> list[int]:
    """All slots, one of each zone in turn; zones and their nodes in the order of arrival."""
    zones: dict[str, list[int]] = {}
    for name, slot in nodes.slot_of.items():
        info = nodes.get(name)
        zones.setdefault(zone_key(info.labels if info is not None else {}), []).append(slot)
    return [slot for turn in zip_longest(*zones.values()) for slot in turn if slot is not None]


def zone_key(labels: Mapping[str, str]) -> str:
    """Region and zone together; empty if the node has neither."""
    zone, region = (
        labels.get(f"failure-domain.beta.kubernetes.io/{level}") or labels.get(f"topology.kubernetes.io/{level}") or ""
        for level in ("zone", "region")
    )
    return f"{region}:\0:{zone}" if region or zone else ""
