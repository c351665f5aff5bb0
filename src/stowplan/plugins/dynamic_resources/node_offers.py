"""What each node has to offer to claims of one kind, remembered and asked again only where something changed.

Claims that are made from one template ask for the same, so that what was found for one pod holds for the next, but for
the nodes whose devices were taken or returned since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan.cache import Cluster, Store
from stowplan.framework import NodeInfo, Nodes
from stowplan.plugins.dynamic_resources.allocation import (
    AllocatedState,
    AllocationFailure,
    Allocator,
    Solution,
    WantedClaim,
)

UNKNOWN, FITS, LACKING = range(3)
"""What is noted for a node: not asked yet, devices found, not enough of them."""

MAX_ALTERNATIVES = 8
"""How many alternatives a request may list; the first is worth this much, each after it one less."""

_KEPT = 64


class NodeOffers:
    """The answers of all nodes to claims of one kind."""

    def __init__(self, allocator: Allocator, cluster: Cluster) -> None:
        self._allocator = allocator
        self._nodes = cluster.nodes
        size = self._nodes.capacity
        self.verdicts: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        self.scores: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._solutions: dict[int, Solution] = {}
        self._seen = (-1, -1, -1)

    def on(self, node: NodeInfo, claims: Sequence[WantedClaim]) -> Solution | AllocationFailure | None:
        """What one node has to offer. Failures name the claim, so that they are never remembered."""
        slot = node.slot
        known = self.verdicts[slot]
        if known == FITS:
            return self._solutions[slot]
        if known == LACKING:
            return None
        found = self._allocator.solve(node, claims)
        if isinstance(found, AllocationFailure):
            return found
        self.verdicts[slot] = LACKING if found is None else FITS
        if found is not None:
            self._solutions[slot] = found
            self.scores[slot] = worth(found)
        return found

    def unknown(self, nodes: Nodes) -> list[tuple[int, NodeInfo]]:
        """The nodes that must be asked, with their positions."""
        positions = np.flatnonzero(self.verdicts[nodes.index] == UNKNOWN)
        if nodes.holes is not None:
            positions = positions[~np.isin(positions, nodes.holes)]
        infos, slots = self._nodes.infos, nodes.slots_at(positions)
        pairs = zip(positions.tolist(), slots.tolist(), strict=True)
        return [(position, node) for position, slot in pairs if (node := infos[slot]) is not None]

    def refresh(self) -> None:
        """Forget what was noted for nodes where something changed."""
        nodes, allocated, inventory = self._nodes, self._allocator.allocated, self._allocator.inventory
        inventory.refresh()
        seen, now = self._seen, (nodes.node_log.position, allocated.position, inventory.position)
        if seen == now:
            return
        self._seen = now
        if len(self.verdicts) < nodes.capacity:
            self.verdicts = np.zeros(nodes.capacity, dtype=np.int8)
            self.scores = np.zeros(nodes.capacity, dtype=np.int64)
            return
        slots = nodes.node_log.since(seen[0]) if seen[0] >= 0 else None
        pools = allocated.pools_since(seen[1]) if seen[1] >= 0 else None
        if slots is None or pools is None or seen[2] != now[2]:
            self.verdicts[:] = UNKNOWN
            return
        self.verdicts[slots] = UNKNOWN
        for pool in set(pools):
            names = inventory.nodes_using(pool)
            self.verdicts[[slot for name in names if (slot := nodes.slot_of.get(name)) is not None]] = UNKNOWN


class Registry:
    """Offers by kind of claims: what they ask for, whoever asks."""

    def __init__(
        self,
        cluster: Cluster,
        allocated: AllocatedState,
        classes: Store[api.DeviceClass],
        timeout: float,
    ) -> None:
        self.allocator = Allocator(allocated, classes, cluster.stores.of(api.ResourceSlice), timeout)
        self._cluster = cluster
        self._classes = classes
        self._version = -1
        self._offers: OrderedDict[bytes, NodeOffers] = OrderedDict()

    def offers(self, claims: Sequence[api.ResourceClaim]) -> NodeOffers:
        """The offers for claims, fit for use in this cycle."""
        if self._version != self._classes.version:
            self._version = self._classes.version
            self._offers.clear()
        key = msgspec.msgpack.encode([claim.spec.devices for claim in claims])
        found = self._offers.get(key)
        if found is None:
            found = self._offers[key] = NodeOffers(self.allocator, self._cluster)
            if len(self._offers) > _KEPT:
                self._offers.popitem(last=False)
        else:
            self._offers.move_to_end(key)
        found.refresh()
        return found


def worth(solution: Solution) -> int:
    """The score of the alternatives that were taken, which count if they brought devices."""
    taken = {item.wanted for picked in solution.picked for item in picked if item.wanted.parent}
    return sum(MAX_ALTERNATIVES - wanted.rank for wanted in taken)
