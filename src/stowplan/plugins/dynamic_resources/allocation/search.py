"""The search for devices on one node: depth first, first fit. Its order decides which devices are found.

Claims, their requests and the devices of each request are filled in order. Within a request devices are tried in
ascending order only, so that each set is tried once.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocation.allocation_state import AllocationState
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import DevicePool, NodePools
from stowplan.plugins.dynamic_resources.allocation.pruning import PRUNING_AFTER_STEPS, DeviceDemand, Pruning, pruning_of
from stowplan.plugins.dynamic_resources.allocation.requests import (
    MAX_DEVICES,
    AllocationError,
    RequestedDevices,
    WantedClaim,
)

_FRAMES_PER_PLACE = 4
_FRAMES_OF_CALLERS = 500


class SearchTimeoutError(Exception):
    """The search exceeded its time limit."""


class _TooManyError(Exception):
    """The claim would have too many devices."""


class _PruneError(Exception):
    """The search took PRUNING_AFTER_STEPS steps; it starts over with pruning."""


class _Place(NamedTuple):
    """The position of the search: claim, request, alternative and device."""

    claim: int = 0
    request: int = 0
    alternative: int = 0
    device: int = 0


class Search:
    """One attempt to allocate devices for some claims on a node."""

    def __init__(
        self,
        claims: Sequence[WantedClaim],
        pools: NodePools,
        node: fwk.NodeInfo,
        allocated: AllocatedState,
        deadline: float | None,
        clock: Callable[[], float],
        *,
        keeps_alternative: bool = True,
    ) -> None:
        """`keeps_alternative`: see DeviceRules."""
        self._keeps_alternative = keeps_alternative
        self._node = node
        self._pools = pools
        self._claims = claims
        self._deadline = deadline
        self._clock = clock
        self._allocation = AllocationState(claims, allocated)
        self.picked = self._allocation.picked
        """The picked devices of each claim."""
        self.chosen: dict[tuple[int, int], int] = {}
        """The chosen alternative by (claim, request); the first if missing."""
        self._demands: list[list[list[DeviceDemand]]] = []
        self._forgetful = [any(c.distinct_attribute for c in w.claim.spec.devices.constraints) for w in claims]
        self._steps = 0
        self._pruning: Pruning | None = None

    def run(self) -> bool:
        """Whether devices were found for all claims. Raises AllocationError and SearchTimeoutError."""
        for claim in self._claims:
            self._demands.append([self._demands_of(claim, alternatives) for alternatives in claim.requests])
            least = sum(min(demand.number for demand in demands) for demands in self._demands[-1])
            if least > MAX_DEVICES:
                limit = f"exceeds the claim limit of {MAX_DEVICES}"
                raise AllocationError(f"claim {claim.key}: number of requested devices {least} {limit}")
        self._make_room()
        try:
            return self._fill(_Place(), False, 0)
        except _PruneError:
            candidates = self._pools.candidates
            self._pruning = pruning_of(
                self._claims, self._demands, candidates, self._node, self._allocation, self._keeps_alternative
            )
            return self._fill(_Place(), False, 0)

    def _make_room(self) -> None:
        """Raise the recursion limit: the search takes a few frames per device."""
        places = sum(MAX_DEVICES + len(requests) for requests in self._demands)
        if (deepest := _FRAMES_PER_PLACE * places + _FRAMES_OF_CALLERS) > sys.getrecursionlimit():
            sys.setrecursionlimit(deepest)

    def _check_time(self) -> None:
        if self._deadline is not None and self._clock() > self._deadline:
            raise SearchTimeoutError

    def _selects(self, wanted: RequestedDevices, device: PublishedDevice) -> bool:
        """Whether a device matches the request. A selector takes up to a second, so time is checked before each."""
        return wanted.selects(device, self._node, self._check_time)

    def _demands_of(self, claim: WantedClaim, alternatives: Sequence[RequestedDevices]) -> list[DeviceDemand]:
        demands = [self._demand(claim, wanted) for wanted in alternatives]
        if not self._keeps_alternative and len(demands) > 1 and all(each.wanted.takes_all for each in demands[:2]):
            demands[1] = demands[0]._replace(wanted=demands[1].wanted)
        return demands

    def _demand(self, claim: WantedClaim, wanted: RequestedDevices) -> DeviceDemand:
        if not wanted.takes_all:
            return DeviceDemand(wanted, wanted.spec.count, ())
        every: list[tuple[PublishedDevice, DevicePool]] = []
        for pool in self._pools.pools:
            if pool.incomplete or pool.invalid:
                state = "being updated" if pool.incomplete else "invalid"
                asks = f"asks for all devices, but resource pool {pool.name} is currently {state}"
                raise AllocationError(f"claim {claim.key}, request {wanted.name}: {asks}")
            every += [
                (device, pool)
                for device in pool.devices
                if self._selects(wanted, device) and self._allocation.has_capacity(wanted, device)
            ]
        return DeviceDemand(wanted, len(every), every)

    def _fill(self, place: _Place, within_alternative: bool, start: int) -> bool:
        """Fill all places from this one on; `start` is the first device to try."""
        self._check_time()
        if place.claim >= len(self._claims):
            return True
        self._steps += 1
        if self._steps == PRUNING_AFTER_STEPS:
            raise _PruneError
        requests = self._demands[place.claim]
        if place.request >= len(requests):
            try:
                return self._fill(_Place(place.claim + 1), False, 0)
            except _TooManyError:
                # With other devices for this claim, the next one may find an alternative with fewer devices.
                return False
        if place.device == 0 and not within_alternative:
            return self._begin_request(place)
        return self._fill_request(place, within_alternative, start)

    def _begin_request(self, place: _Place) -> bool:
        """Fill from the beginning of a request, unless pruning shows that it fails."""
        alternatives = len(self._demands[place.claim][place.request])
        branching = bool(self._demands[place.claim][place.request][0].wanted.parent)
        ahead = self._pruning if self._may_skip(place.claim) else None
        key = None if ahead is None else ahead.key(place.claim, place.request)
        if ahead is not None and ahead.is_hopeless(key, place.claim, place.request):
            return False
        found = self._first_alternative(place, alternatives) if branching else self._fill_request(place, False, 0)
        if ahead is not None and not found:
            ahead.note_failure(key)
        return found

    def _fill_request(self, place: _Place, within_alternative: bool, start: int) -> bool:
        demand = self._demands[place.claim][place.request][place.alternative]
        if demand.wanted.takes_all and not demand.every:
            return False
        if place.device >= demand.number:
            return self._fill(_Place(place.claim, place.request + 1), False, 0)
        if len(self.picked[place.claim]) + demand.number - place.device > MAX_DEVICES:
            raise _TooManyError
        if demand.wanted.takes_all:
            return self._take_all(place, demand, within_alternative)
        return self._take_next(place, demand, within_alternative, start)

    def _first_alternative(self, place: _Place, count: int) -> bool:
        all_too_many = True
        for alternative in range(count):
            try:
                found = self._fill(place._replace(alternative=alternative), True, 0)
            except _TooManyError:
                continue
            all_too_many = False
            if found:
                self.chosen[place.claim, place.request] = alternative
                return True
        if all_too_many:
            raise _TooManyError
        return False

    def _take_all(self, place: _Place, demand: DeviceDemand, within_alternative: bool) -> bool:
        device, pool = demand.every[place.device]
        undo = self._allocation.pick(place.claim, demand.wanted, device, pool, must=True)
        if undo is None:
            return False
        found = False
        following = place._replace(device=place.device + 1)
        if not self._keeps_alternative:
            following = following._replace(alternative=0)
        try:
            found = self._fill(following, within_alternative, 0)
        finally:
            if not found:
                undo()
        return found

    def _take_next(self, place: _Place, demand: DeviceDemand, within_alternative: bool, start: int) -> bool:
        wanted, allocation = demand.wanted, self._allocation
        candidates = self._pools.candidates
        if self._may_skip(place.claim) and not self._enough(place, demand, start):
            return False
        following = place._replace(device=place.device + 1)
        for position in range(start, len(candidates)):
            device, pool = candidates[position]
            if allocation.in_use(place.claim, wanted, device) or not self._selects(wanted, device):
                continue
            # Checked before constraints see the device: `remove` does not restore the state of some constraints.
            if not allocation.has_capacity(wanted, device):
                continue
            undo = allocation.pick(place.claim, wanted, device, pool)
            if undo is None:
                continue
            found = False
            try:
                found = self._fill(following, within_alternative, position + 1)
            finally:
                if not found:
                    undo()
            if found:
                return True
        return False

    def _may_skip(self, claim: int) -> bool:
        """Whether choices that fail may be skipped. Where trying them changes the state of a constraint, upstream's
        result depends on the trial."""
        return not self._allocation.picked[claim] or not self._forgetful[claim]

    def _enough(self, place: _Place, demand: DeviceDemand, start: int) -> bool:
        """Whether enough devices are left to try.

        A device whose selector fails counts, so that the search reaches it and reports the error.
        """
        missing = demand.number - place.device
        wanted = demand.wanted
        for device, _ in self._pools.candidates[start:]:
            if self._allocation.in_use(place.claim, wanted, device):
                continue
            try:
                missing -= self._selects(wanted, device)
            except AllocationError:
                return True
            if missing <= 0:
                return True
        return missing <= 0
