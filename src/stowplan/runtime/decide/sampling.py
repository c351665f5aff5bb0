"""Looking at a part of the cluster: percentageOfNodesToScore, in kube-scheduler's order of nodes.

Nodes are taken zone by zone in turn, starting where the last search stopped, until enough of them fit. With columns all
nodes cost little more than some, so this is only done where the configuration asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from stowplan.cache import NodeTable
from stowplan.framework import Slots

LEAST = 100
"""So many feasible nodes are looked for at least."""


_LEAST_PERCENTAGE = 5


class Rotation:
    """Where the next search starts. All profiles share one."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._membership = -1
        self._ranks: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.start = 0

    def advance(self, evaluated: int) -> None:
        self.start = (self.start + evaluated) % max(1, len(self._nodes))

    def turns(self, slots: Slots) -> NDArray[np.intp]:
        """At which turn of a search that starts now each of the slots is looked at."""
        if self._membership != self._nodes.membership:
            self._membership = self._nodes.membership
            self._ranks = np.zeros(self._nodes.capacity, dtype=np.intp)
            for rank, slot in enumerate(zone_interleaved(self._nodes)):
                self._ranks[slot] = rank
        return (self._ranks[slots] - self.start) % len(self._nodes)


class Sampler:
    """A profile's wish to look at some percentage of the nodes; 0 is the less, the more there are."""

    def __init__(self, percentage: int, rotation: Rotation) -> None:
        self._percentage = percentage
        self.rotation = rotation

    def wanted(self, candidates: int) -> int:
        """How many feasible nodes are enough."""
        if candidates < LEAST:
            return candidates
        percentage = self._percentage or max(_LEAST_PERCENTAGE, 50 - candidates // 125)
        return max(LEAST, candidates * percentage // 100)

    def pick(self, feasible: Slots, candidates: int) -> tuple[Slots, int]:
        """(the feasible nodes that are found first, how many nodes were looked at for that)."""
        wanted = self.wanted(candidates)
        if len(feasible) <= wanted:
            return feasible, candidates
        turns = self.rotation.turns(feasible)
        first = np.sort(np.argpartition(turns, wanted - 1)[:wanted])
        return feasible[first], int(turns[first].max()) + 1


def zone_interleaved(nodes: NodeTable) -> list[int]:
    """All slots, one of each zone in turn; zones and the nodes in them in the order in which they came."""
    zones: dict[str, list[int]] = {}
    for name, slot in nodes.slot_of.items():
        info = nodes.get(name)
        zones.setdefault(zone_key(info.labels if info is not None else {}), []).append(slot)
    return [slot for turn in zip_longest(*zones.values()) for slot in turn if slot is not None]


def zone_key(labels: Mapping[str, str]) -> str:
    """Region and zone together; empty where the node has neither."""
    zone, region = (
        labels.get(f"failure-domain.beta.kubernetes.io/{level}") or labels.get(f"topology.kubernetes.io/{level}") or ""
        for level in ("zone", "region")
    )
    return f"{region}:\0:{zone}" if region or zone else ""
