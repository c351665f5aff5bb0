"""The devices of a node for one request, counted in the order of the allocator's rules; for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from msgspec.structs import replace

from stowplan import framework as fwk
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocation.allocation_state import AllocationState
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import DevicePool, NodePools
from stowplan.plugins.dynamic_resources.allocation.requests import RequestedDevices, WantedClaim

Devices = list[tuple[PublishedDevice, DevicePool]]


class Stage(IntEnum):
    """The rules that a device passes, in order."""

    PUBLISHED = 0
    OF_CLASS = 1
    MATCHING = 2
    TOLERATED = 3
    FREE = 4


@dataclass(frozen=True, slots=True)
class RequestInventory:
    """The devices that pass each rule for a request."""

    claim: WantedClaim
    wanted: RequestedDevices
    devices: tuple[list[PublishedDevice], ...]
    """By stage."""

    @property
    def need(self) -> int:
        """The number of devices that the request needs; for allocationMode All, all that match."""
        return max(1, self.count(Stage.MATCHING)) if self.wanted.takes_all else self.wanted.spec.count

    @property
    def short_at(self) -> Stage | None:
        """The first rule that leaves too few devices; None if there are enough."""
        return next((stage for stage in Stage if self.count(stage) < self.need), None)

    def count(self, stage: Stage) -> int:
        return len(self.devices[stage])


class NodeInventory:
    """The devices of a node for some claims."""

    def __init__(
        self, claims: Sequence[WantedClaim], pools: NodePools, node: fwk.NodeInfo, allocated: AllocatedState
    ) -> None:
        self._claims = claims
        self._pools = pools
        self._node = node
        # Constraints between devices are no property of a single device.
        plain = [_without_constraints(claim) for claim in claims]
        self._allocation = AllocationState(plain, allocated)

    def requests(self) -> list[list[RequestInventory]]:
        """For each request of each claim, its alternatives; an exact request has one."""
        return [
            [self._count(number, claim, wanted) for wanted in alternatives]
            for number, claim in enumerate(self._claims)
            for alternatives in claim.requests
        ]

    def _count(self, number: int, claim: WantedClaim, wanted: RequestedDevices) -> RequestInventory:
        of_class = len(wanted.device_class.spec.selectors)
        published = [each for each in self._pools.candidates if _reaches(each[0], self._node)]
        in_class = [each for each in published if _matches(each[0], wanted, slice(of_class))]
        matching = [each for each in in_class if _matches(each[0], wanted, slice(of_class, None))]
        tolerated = [each for each in matching if wanted.tolerates(each[0])]
        free = [each for each in tolerated if self._is_free(number, wanted, *each)]
        stages = (published, in_class, matching, tolerated, free)
        return RequestInventory(claim, wanted, tuple([device for device, _ in stage] for stage in stages))

    def _is_free(self, claim: int, wanted: RequestedDevices, device: PublishedDevice, pool: DevicePool) -> bool:
        """Whether the device can be allocated on its own."""
        if self._allocation.in_use(claim, wanted, device):
            return False
        if not device.consumes and not device.spec.capacity and not wanted.capacity and not wanted.admin:
            return True
        if not self._allocation.has_capacity(wanted, device):
            return False
        undo = self._allocation.pick(claim, wanted, device, pool)
        if undo is None:
            return False
        undo()
        return True


def _reaches(device: PublishedDevice, node: fwk.NodeInfo) -> bool:
    return device.reach is None or device.reach.covers(node)


def _matches(device: PublishedDevice, wanted: RequestedDevices, which: slice) -> bool:
    return all(
        selector.error is None and device.verdict(selector) is True for _, _, selector in wanted.selectors[which]
    )


def _without_constraints(claim: WantedClaim) -> WantedClaim:
    spec = claim.claim.spec
    plain = replace(claim.claim, spec=replace(spec, devices=replace(spec.devices, constraints=())))
    return WantedClaim(plain, claim.key, claim.requests)
