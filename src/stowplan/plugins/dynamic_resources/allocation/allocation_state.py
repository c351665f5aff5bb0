"""Devices picked so far in a search, with their counters and capacity. Every pick can be undone.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (allocateDevice)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

from stowplan.api.quantity import Exact
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState, DeviceID, PoolID
from stowplan.plugins.dynamic_resources.allocation.capacity import Amount, consumed, fits
from stowplan.plugins.dynamic_resources.allocation.constraints import ConstraintState, constraint
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.pools import CounterSets, DevicePool
from stowplan.plugins.dynamic_resources.allocation.requests import AllocationError, RequestedDevices, WantedClaim

Undo: TypeAlias = Callable[[], None]

_NOTHING: dict[str, Exact] = {}


class Picked(NamedTuple):
    """A device for a request, and the capacity that its share consumes (None for an exclusive device)."""

    wanted: RequestedDevices
    device: PublishedDevice
    share: dict[str, Amount] | None


class AllocationState:
    """The picked devices of a search, on top of the allocated ones."""

    def __init__(self, claims: Sequence[WantedClaim], allocated: AllocatedState) -> None:
        self._claims = claims
        self._allocated = allocated
        self.picked: list[list[Picked]] = [[] for _ in claims]
        self._constraints: list[list[ConstraintState]] = [
            [made for spec in claim.claim.spec.devices.constraints if (made := constraint(spec)) is not None]
            for claim in claims
        ]
        self._taking: dict[DeviceID, set[int]] = {}
        self._capacity: dict[DeviceID, dict[str, Exact]] = {}
        self._counters: dict[PoolID, CounterSets] = {}

    def in_use(self, claim: int, wanted: RequestedDevices, device: PublishedDevice) -> bool:
        """Whether the device is in use. With admin access, only the claim's own picks count."""
        taking = self._taking.get(device.id)
        if wanted.admin:
            return bool(taking) and claim in taking  # type: ignore[operator]
        return bool(taking) or device.id in self._allocated.devices

    def might_have_capacity(self, wanted: RequestedDevices, device: PublishedDevice) -> bool:
        """Whether enough capacity is left besides the allocated one, without the picks of this search."""
        return fits(wanted.capacity, device, self._allocated.capacity.get(device.id, _NOTHING), _NOTHING)

    def has_capacity(self, wanted: RequestedDevices, device: PublishedDevice) -> bool:
        taken = self._allocated.capacity.get(device.id, _NOTHING)
        return fits(wanted.capacity, device, taken, self._capacity.get(device.id, _NOTHING))

    def pick(
        self, claim: int, wanted: RequestedDevices, device: PublishedDevice, pool: DevicePool, *, must: bool = False
    ) -> Undo | None:
        """Pick a device if possible; returns the function that undoes it, else None."""
        in_use = self.in_use(claim, wanted, device)
        if in_use and not (wanted.admin and device.shared):
            return None
        undone: list[Undo] = []
        if device.consumes and not (device.shared and self._is_shared_already(device)):
            if not self._draw(device, pool):
                return None
            undone.append(lambda: self._return(device))
        if not wanted.tolerates(device) or not self._satisfies(claim, wanted, device, undone):
            _unwind(undone)
            if must and wanted.tolerates(device):
                broken = "because a claim constraint would not be satisfied"
                at = f"claim {self._claims[claim].key}, request {wanted.name}"
                raise AllocationError(f"{at}: cannot add device {'/'.join(device.id)} {broken}")
            return None
        if not self.has_capacity(wanted, device):
            _unwind(undone)
            return None
        share = self._take(claim, wanted, device, undone)
        self.picked[claim].append(Picked(wanted, device, share))
        undone.append(self.picked[claim].pop)  # type: ignore[arg-type]
        return lambda: _unwind(undone)

    def fingerprint(self, claim: int) -> Hashable:
        """The state that later picks of the claim depend on."""
        return (
            len(self.picked[claim]),
            frozenset((device, frozenset(claims)) for device, claims in self._taking.items() if claims),
            frozenset((device, frozenset(amounts.items())) for device, amounts in self._capacity.items()),
            tuple(item.fingerprint() for item in self._constraints[claim]),
        )

    def _is_shared_already(self, device: PublishedDevice) -> bool:
        """Whether a share exists already: the first one consumed the counters."""
        return device.id in self._allocated.capacity or device.id in self._capacity

    def _satisfies(self, claim: int, wanted: RequestedDevices, device: PublishedDevice, undone: list[Undo]) -> bool:
        base, alternative = wanted.base, wanted.alternative
        for item in self._constraints[claim]:
            if not item.add(base, alternative, device):
                return False
            undone.append(lambda item=item: item.remove(base, alternative))  # type: ignore[misc]
        return True

    def _take(
        self, claim: int, wanted: RequestedDevices, device: PublishedDevice, undone: list[Undo]
    ) -> dict[str, Amount] | None:
        if not device.shared:
            taking = self._taking.setdefault(device.id, set())
            taking.add(claim)
            undone.append(lambda: taking.discard(claim))
            return None
        share = consumed(wanted.capacity, device)
        before = self._capacity.get(device.id)
        after = dict(before or {})
        for name, amount in share.items():
            after[name] = after.get(name, 0) + amount.exact
        self._capacity[device.id] = after
        undone.append(lambda: self._restore(device.id, before))
        return share

    def _restore(self, device: DeviceID, before: dict[str, Exact] | None) -> None:
        if before is None:
            del self._capacity[device]
        else:
            self._capacity[device] = before

    def _draw(self, device: PublishedDevice, pool: DevicePool) -> bool:
        """Consume counters of the pool. Fails if any counter of the pool is below zero afterwards."""
        drawn = self._counters.setdefault(pool.id, {})
        _add(drawn, device, 1)
        for name, counters in pool.available(self._allocated).items():
            taken = drawn.get(name, _NOTHING)
            if any(left < taken.get(counter, 0) for counter, left in counters.items()):
                _add(drawn, device, -1)
                return False
        return True

    def _return(self, device: PublishedDevice) -> None:
        _add(self._counters[device.pool_id], device, -1)


def _add(drawn: CounterSets, device: PublishedDevice, sign: int) -> None:
    for name, amounts in device.consumes.items():
        counters = drawn.setdefault(name, {})
        for counter, amount in amounts.items():
            counters[counter] = counters.get(counter, 0) + sign * amount


def _unwind(undone: list[Undo]) -> None:
    while undone:
        undone.pop()()
