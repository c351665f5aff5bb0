"""The allocator.

Upstream: k8s.io/dynamic-resource-allocation/structured/allocator.go
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Store
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocation.allocation_state import Picked
from stowplan.plugins.dynamic_resources.allocation.features import ALL_FEATURES, AllocatorFeatures
from stowplan.plugins.dynamic_resources.allocation.first_fit import first_fit
from stowplan.plugins.dynamic_resources.allocation.inventory import Inventory
from stowplan.plugins.dynamic_resources.allocation.requests import AllocationError, WantedClaim, prepare
from stowplan.plugins.dynamic_resources.allocation.results import allocation
from stowplan.plugins.dynamic_resources.allocation.search import Search, SearchTimeoutError

TIMED_OUT = "timed out trying to allocate devices"


@dataclass(frozen=True, slots=True)
class AllocationFailure:
    """An error of the allocation. `on_node`: it concerns this node only."""

    text: str
    on_node: bool = False
    timed_out: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Devices for claims on a node. Shared by equal claims, so it has no names of claims."""

    picked: tuple[tuple[Picked, ...], ...]
    chosen: tuple[dict[int, int], ...]

    def results(
        self, claims: Sequence[WantedClaim], node_name: str
    ) -> tuple[api.AllocationResult, ...] | AllocationFailure:
        """The AllocationResults, one per claim."""
        rows = zip(claims, self.picked, self.chosen, strict=True)
        try:
            return tuple(allocation(claim, picked, chosen, node_name) for claim, picked, chosen in rows)
        except AllocationError as error:
            return AllocationFailure(str(error))


class Allocator:
    """Allocates devices from the current stores. Lives as long as the plugin."""

    def __init__(
        self,
        allocated: AllocatedState,
        classes: Store[api.DeviceClass],
        slices: Store[api.ResourceSlice],
        timeout: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        features: AllocatorFeatures = ALL_FEATURES,
    ) -> None:
        self.allocated = allocated
        self.inventory = Inventory(slices, features)
        self._features = features
        self._classes = classes
        self.timeout = timeout
        """Time limit of the search on a node in seconds (filterTimeout); zero means no limit."""
        self.clock = clock

    def prepare(self, claims: Sequence[api.ResourceClaim]) -> tuple[WantedClaim, ...] | AllocationFailure:
        """Prepare the claims, once for all nodes."""
        try:
            return tuple(prepare(claim, self._classes, self._features) for claim in claims)
        except AllocationError as error:
            return AllocationFailure(str(error))

    def solve(self, node: fwk.NodeInfo, claims: Sequence[WantedClaim]) -> Solution | AllocationFailure | None:
        """Devices for the claims on a node; None if there are not enough."""
        pools = self.inventory.pools(node)
        if isinstance(pools, str):
            return AllocationFailure(pools)
        if all(claim.is_plain for claim in claims):
            picked = first_fit(claims, pools, node, self.allocated)
            if picked is not None:
                return Solution(picked, tuple({} for _ in claims))
        deadline = self.clock() + self.timeout if self.timeout else None
        keeps = self._features.rules.keeps_alternative
        search = Search(claims, pools, node, self.allocated, deadline, self.clock, keeps_alternative=keeps)
        try:
            found = search.run()
        except AllocationError as error:
            return AllocationFailure(str(error))
        except SearchTimeoutError:
            return self.timeout_on(node)
        if found:
            chosen: list[dict[int, int]] = [{} for _ in claims]
            for (claim, request), alternative in search.chosen.items():
                chosen[claim][request] = alternative
            return Solution(tuple(map(tuple, search.picked)), tuple(chosen))
        if any(pool.invalid for pool in pools.pools):
            return AllocationFailure("invalid resource pools were encountered", on_node=True)
        return None

    def timeout_on(self, node: fwk.NodeInfo) -> AllocationFailure:
        """The failure of a search that exceeds its time limit."""
        if self._features.rules.search_timeout_is_error:
            return AllocationFailure(f"node {node.name}: {TIMED_OUT}", timed_out=True)
        return AllocationFailure(TIMED_OUT, on_node=True, timed_out=True)

    def allocate(
        self, node: fwk.NodeInfo, claims: Sequence[api.ResourceClaim]
    ) -> tuple[api.AllocationResult, ...] | AllocationFailure | None:
        """The AllocationResults of the claims on a node, one per claim."""
        prepared = self.prepare(claims)
        if isinstance(prepared, AllocationFailure):
            return prepared
        solution = self.solve(node, prepared)
        return (
            solution
            if solution is None or isinstance(solution, AllocationFailure)
            else solution.results(prepared, node.name)
        )
