"""Allocated devices, shares of devices and consumed capacity, summed over the allocations of claims.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/allocatedstate.go,
pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from stowplan import api
from stowplan.api.quantity import Exact, parse

DeviceID: TypeAlias = tuple[str, str, str]
"""(driver, pool, device)."""

PoolID: TypeAlias = tuple[str, str]
"""(driver, pool)."""

_LOG_LENGTH = 8192


class AllocatedState:
    """Updated incrementally, claim by claim.

    An allocation in flight counts like a written one: `hold` it under the claim's uid.
    """

    __slots__ = ("_counted", "_first", "_log", "capacity", "devices", "shared_capacity", "shares")

    def __init__(self) -> None:
        self.devices: Counter[DeviceID] = Counter()
        """Devices that are allocated exclusively."""
        self.shares: Counter[DeviceID] = Counter()
        """Allocated shares of devices that allow multiple allocations."""
        self.shared_capacity: Counter[DeviceID] = Counter()
        """The number of shares that consume capacity, by device."""
        self.capacity: dict[DeviceID, dict[str, Exact]] = {}
        """Consumed capacity, by device."""
        self._counted: dict[str, api.AllocationResult] = {}
        self._log: list[PoolID] = []
        self._first = 0

    @property
    def position(self) -> int:
        """Grows with every change; `pools_since` returns the changes after it."""
        return self._first + len(self._log)

    def pools_since(self, position: int) -> list[PoolID] | None:
        """The pools with changes, with repeats; None if the log does not reach back that far."""
        return None if position < self._first else self._log[position - self._first :]

    def is_taken(self, device: DeviceID) -> bool:
        """Whether the device or a share of it is allocated."""
        return device in self.devices or device in self.shares

    def hold(self, uid: str, allocation: api.AllocationResult) -> None:
        """Record the allocation of a claim, in place of an earlier one."""
        known = self._counted.get(uid)
        if known is allocation:
            return
        self._counted[uid] = allocation
        if known is not None:
            if known.devices.results == allocation.devices.results:
                return
            self._count(known, -1)
        self._count(allocation, 1)

    def release(self, uid: str) -> None:
        """Remove the allocation of a claim."""
        known = self._counted.pop(uid, None)
        if known is not None:
            self._count(known, -1)

    def _count(self, allocation: api.AllocationResult, step: int) -> None:
        for result in allocation.devices.results:
            # Admin access does not count as an allocation.
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            if result.share_id is None:
                _add(self.devices, device, step)
            else:
                _add(self.shares, device, step)
                if result.consumed_capacity:
                    self._consume(device, result.consumed_capacity, step)
            self._note((result.driver, result.pool))

    def _consume(self, device: DeviceID, consumed: api.ResourceList, step: int) -> None:
        _add(self.shared_capacity, device, step)
        if device not in self.shared_capacity:
            del self.capacity[device]
            return
        taken = self.capacity.setdefault(device, {})
        for name, amount in consumed.items():
            taken[name] = taken.get(name, 0) + step * parse(amount)

    def _note(self, pool: PoolID) -> None:
        self._log.append(pool)
        if len(self._log) > _LOG_LENGTH:
            self._first += _LOG_LENGTH // 2
            del self._log[: _LOG_LENGTH // 2]


def _add(counter: Counter[DeviceID], device: DeviceID, step: int) -> None:
    counter[device] += step
    if not counter[device]:
        del counter[device]
