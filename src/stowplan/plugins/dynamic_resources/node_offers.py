"""Results of the allocator by node, kept for claims with equal specs.

Claims of one template are equal, so the results for one pod hold for the next, except on nodes whose devices were
allocated or deallocated since.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster, Store
from stowplan.cache.kept import KeptOnDemand
from stowplan.cache.lru_map import LruMap
from stowplan.plugins.dynamic_resources.allocation import (
    AllocatedState,
    AllocationFailure,
    Allocator,
    AllocatorFeatures,
    Solution,
    WantedClaim,
)

FITS, LACKING = 1, 2
"""Results: devices found, not enough devices."""

MAX_ALTERNATIVES = 8
"""Alternatives of a request (FirstAvailableDeviceRequestMaxSize), and the score of the first one."""

_MAX_CLAIM_KINDS = 64


class NodeOffers(KeptOnDemand):
    """The results of all nodes for claims with equal specs."""

    def __init__(self, allocator: Allocator, cluster: Cluster) -> None:
        super().__init__(cluster.nodes, follows_pods=False)
        self._allocator = allocator
        self._solutions: dict[int, Solution] = {}
        self._seen = (-1, -1)
        """Positions in the logs of allocated devices and of the inventory that the results are up to date with."""

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        size = self.nodes.capacity
        self.verdicts: NDArray[np.int8] = np.zeros(size, dtype=np.int8)
        self.scores: NDArray[np.int64] = np.zeros(size, dtype=np.int64)

    def on(self, node: fwk.NodeInfo, claims: Sequence[WantedClaim]) -> Solution | AllocationFailure | None:
        """The result for one node. Failures name the claim, so they are not kept."""
        slot = node.slot
        if self.is_known(slot):
            return self._solutions[slot] if self.verdicts[slot] == FITS else None
        found = self._allocator.solve(node, claims)
        if isinstance(found, AllocationFailure):
            return found
        self.verdicts[slot] = LACKING if found is None else FITS
        if found is not None:
            self._solutions[slot] = found
            self.scores[slot] = worth(found)
        self.settle(slot)
        return found

    def unanswered(self, nodes: fwk.Nodes, among: fwk.Mask | None = None) -> list[tuple[int, fwk.NodeInfo]]:
        """The nodes without a result, with their positions; with a mask, those of its nodes."""
        unknown = ~self._known[nodes.index]
        if nodes.holes is not None:
            unknown[nodes.holes] = False
        if among is not None:
            unknown &= among
        positions = np.flatnonzero(unknown)
        found = zip(positions.tolist(), nodes.slots_at(positions).tolist(), strict=True)
        infos = self.nodes.infos
        return [(position, info) for position, slot in found if (info := infos[slot]) is not None]

    def lacking(self, nodes: fwk.Nodes) -> fwk.Mask:
        """The nodes that are known not to have enough devices."""
        mask: fwk.Mask = self._known[nodes.index] & (self.verdicts[nodes.index] == LACKING)
        return mask

    def catch_up(self) -> None:
        """Forget the results of nodes that changed, or whose devices changed."""
        self.refresh(None)
        allocated, inventory = self._allocator.allocated, self._allocator.inventory
        inventory.refresh()
        seen, now = self._seen, (allocated.position, inventory.position)
        if seen == now:
            return
        self._seen = now
        pools = allocated.pools_since(seen[0]) if seen[0] >= 0 else None
        if pools is None or seen[1] != now[1]:
            self.forget(slice(None))
            return
        names = {name for pool in set(pools) for name in inventory.nodes_using(pool)}
        self.forget([slot for name in names if (slot := self.nodes.slot_of.get(name)) is not None])


class OffersByClaims:
    """The kept results by spec of claims."""

    def __init__(
        self,
        cluster: Cluster,
        allocated: AllocatedState,
        classes: Store[api.DeviceClass],
        timeout: float,
    ) -> None:
        slices, features = cluster.stores.of(api.ResourceSlice), AllocatorFeatures.of(cluster.release)
        self.allocator = Allocator(allocated, classes, slices, timeout, features=features)
        self._cluster = cluster
        self._classes = classes
        self._version = -1
        self._offers: LruMap[bytes, NodeOffers] = LruMap(_MAX_CLAIM_KINDS)

    def offers(self, claims: Sequence[api.ResourceClaim]) -> NodeOffers:
        """The results for claims, up to date for this cycle."""
        if self._version != self._classes.version:
            self._version = self._classes.version
            self._offers.clear()
        key = msgspec.msgpack.encode([claim.spec.devices for claim in claims])
        found = self._offers.get_or_make(key, lambda: NodeOffers(self.allocator, self._cluster))
        found.catch_up()
        return found


def worth(solution: Solution) -> int:
    """The score of the chosen alternatives that have devices."""
    taken = {item.wanted for picked in solution.picked for item in picked if item.wanted.parent}
    return sum(MAX_ALTERNATIVES - wanted.rank for wanted in taken)
