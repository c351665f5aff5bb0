"""Pruning of the search: choices that cannot succeed are not tried in all combinations.

The plain search is the definition; pruning does not change its result. Two rules: a state that failed once fails again,
and the remaining requests must have a matching with devices when constraints, counters and capacity are ignored.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from stowplan import api
from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.allocation.allocation_state import AllocationState
from stowplan.plugins.dynamic_resources.allocation.devices import Attribute, PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import DevicePool
from stowplan.plugins.dynamic_resources.allocation.requests import AllocationError, RequestedDevices, WantedClaim

PRUNING_AFTER_STEPS = 300
"""Steps of the plain search after which pruning pays."""


class DeviceDemand(NamedTuple):
    """The number of devices of an alternative on a node; all of them for allocationMode All."""

    wanted: RequestedDevices
    number: int
    every: Sequence[tuple[PublishedDevice, DevicePool]]


class Need(NamedTuple):
    """Devices that a request needs."""

    claim: int
    request: int
    wanted: RequestedDevices
    number: int
    devices: Sequence[PublishedDevice]
    alike: tuple[str, ...] = ()
    """Attributes whose values must be equal."""

    def usable(self, free: Sequence[PublishedDevice]) -> list[PublishedDevice]:
        """The devices that have enough others with the same values."""
        if not self.alike:
            return list(free)
        groups: dict[tuple[Attribute | None, ...], list[PublishedDevice]] = {}
        for device in free:
            values = tuple(device.attribute(name) for name in self.alike)
            if None not in values:
                groups.setdefault(values, []).append(device)
        return [device for group in groups.values() if len(group) >= self.number for device in group]


class Pruning:
    """Decides at the beginning of a request whether the rest of the search can succeed."""

    def __init__(self, allocation: AllocationState, needs: Sequence[Need]) -> None:
        self._allocation = allocation
        self._needs = needs
        self._failed: set[Hashable] = set()

    def key(self, claim: int, request: int) -> Hashable:
        """The state that the rest of the search depends on."""
        return claim, request, self._allocation.fingerprint(claim)

    def is_hopeless(self, key: Hashable, claim: int, request: int) -> bool:
        """Whether the rest of the search certainly fails."""
        if key in self._failed:
            return True
        if self._can_match([need for need in self._needs if (need.claim, need.request) >= (claim, request)]):
            return False
        self._failed.add(key)
        return True

    def note_failure(self, key: Hashable) -> None:
        self._failed.add(key)

    def _can_match(self, needs: Sequence[Need]) -> bool:
        """Whether a matching of needs and devices exists; a shareable device may serve several needs."""
        edges: list[list[PublishedDevice]] = []
        for need in needs:
            free = need.usable([d for d in need.devices if not self._allocation.in_use(need.claim, need.wanted, d)])
            if len(free) < need.number:
                return False
            edges.append([] if need.wanted.admin else [d for d in free if not d.shared])
        serving: dict[PublishedDevice, int] = {}
        for number, need in enumerate(needs):
            sharing = 0 if need.wanted.admin else sum(d.shared for d in need.devices)
            missing = 0 if need.wanted.admin else need.number - sharing
            for _ in range(missing):
                if not _augment(number, edges, serving, set()):
                    return False
        return True


def _augment(
    number: int, edges: list[list[PublishedDevice]], serving: dict[PublishedDevice, int], seen: set[PublishedDevice]
) -> bool:
    """Find a device for a need, moving other needs along an augmenting path."""
    for device in edges[number]:
        if device in seen:
            continue
        seen.add(device)
        other = serving.get(device)
        if other is None or (other != number and _augment(other, edges, serving, seen)):
            serving[device] = number
            return True
    return False


def pruning_of(
    claims: Sequence[WantedClaim],
    demands: Sequence[Sequence[Sequence[DeviceDemand]]],
    candidates: Sequence[tuple[PublishedDevice, DevicePool]],
    node: fwk.NodeInfo,
    allocation: AllocationState,
    keeps_alternative: bool = True,
) -> Pruning:
    """The pruning of a search; `demands` are those of the alternatives of each request of each claim.

    Where a selector fails for a device, or a request for all devices has a constraint, the plain search might return
    an error. The requests from there on are not pruned.
    """
    needs: list[Need] = []
    try:
        for claim, requests in enumerate(demands):
            constrained = bool(claims[claim].claim.spec.devices.constraints)
            for request, alternatives in enumerate(requests):
                if constrained and any(demand.wanted.takes_all for demand in alternatives):
                    return Pruning(allocation, needs)
                found = [_need(claim, request, demand, candidates, node, allocation) for demand in alternatives]
                # Which alternative is taken is unknown.
                devices = dict.fromkeys(device for need in found for device in need.devices)
                least = min(need.number for need in found) if keeps_alternative or len(found) == 1 else 1
                alike = () if len(found) > 1 else _alike(claims[claim].claim, found[0].wanted)
                needs.append(Need(claim, request, found[0].wanted, least, tuple(devices), alike))
    except AllocationError:
        pass
    return Pruning(allocation, needs)


def _alike(claim: api.ResourceClaim, wanted: RequestedDevices) -> tuple[str, ...]:
    """The attributes that matchAttribute constraints name for a request."""
    return tuple(
        constraint.match_attribute
        for constraint in claim.spec.devices.constraints
        if constraint.match_attribute is not None
        and (not constraint.requests or {wanted.base, wanted.full_name} & set(constraint.requests))
    )


def _need(
    claim: int,
    request: int,
    demand: DeviceDemand,
    candidates: Sequence[tuple[PublishedDevice, DevicePool]],
    node: fwk.NodeInfo,
    allocation: AllocationState,
) -> Need:
    wanted = demand.wanted
    if wanted.takes_all:
        # allocationMode All needs at least one device.
        number, devices = max(demand.number, 1), [device for device, _ in demand.every]
    else:
        number, devices = demand.number, [device for device, _ in candidates if wanted.selects(device, node)]
    fitting = [d for d in devices if wanted.tolerates(d) and allocation.might_have_capacity(wanted, d)]
    return Need(claim, request, wanted, number, fitting)
