"""Consumable capacity: how much a request consumes of a shared device, and whether it is left.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stowplan import api
from stowplan.api.meta import Quantity
from stowplan.api.quantity import Exact, parse, value
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice

_NANO = 10**9
_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Amount(NamedTuple):
    """An amount with its quantity text."""

    exact: Exact
    text: Quantity


def consumed(requests: Mapping[str, Quantity], device: PublishedDevice) -> dict[str, Amount]:
    """The amounts that a request consumes of each capacity of a device."""
    return {name: _taken(requests.get(name), capacity) for name, capacity in device.spec.capacity.items()}


def fits(
    requests: Mapping[str, Quantity], device: PublishedDevice, taken: Mapping[str, Exact], taking: Mapping[str, Exact]
) -> bool:
    """Whether the capacity of a device is enough for a request, besides allocated and picked shares."""
    capacities = device.spec.capacity
    if not capacities:
        return not requests
    if not requests.keys() <= capacities.keys():
        return False
    for name, capacity in capacities.items():
        amount = _taken(requests.get(name), capacity)
        if _violates(amount, capacity.request_policy):
            return False
        if taken.get(name, 0) + taking.get(name, 0) + amount.exact > parse(capacity.value):
            return False
    return True


def _amount(quantity: Quantity) -> Amount:
    return Amount(parse(quantity), quantity)


def _taken(requested: Quantity | None, capacity: api.DeviceCapacity) -> Amount:
    policy = capacity.request_policy
    if requested is None:
        return _amount(capacity.value if policy is None or policy.default is None else policy.default)
    if policy is None:
        return _amount(requested)
    allowed = policy.valid_range
    if allowed is not None and allowed.min is not None:
        return _rounded_up(requested, allowed.min, allowed.step)
    for valid in policy.valid_values:
        if parse(requested) <= parse(valid):
            return _amount(valid)
    return _amount(requested)


def _rounded_up(requested: Quantity, least: Quantity, step: Quantity | None) -> Amount:
    if parse(requested) < parse(least):
        return _amount(least)
    if step is None or not value(step):
        return _amount(requested)
    base, width = value(least), value(step)
    steps = -(-(value(requested) - base) // width)
    return _amount(_binary(base + steps * width))


def _binary(amount: int) -> str:
    """A whole amount, written with the largest binary suffix that needs no fraction."""
    power = 0
    while amount and amount % 1024 == 0 and power < len(_SUFFIXES) - 1:
        amount //= 1024
        power += 1
    return f"{amount}{_SUFFIXES[power]}"


def _violates(amount: Amount, policy: api.CapacityRequestPolicy | None) -> bool:
    """Whether an amount violates the request policy. The default is allowed, if its text is the same."""
    if policy is None or amount.text == policy.default:
        return False
    allowed = policy.valid_range
    if allowed is not None:
        if allowed.max is not None and amount.exact > parse(allowed.max):
            return True
        if allowed.step is None or not value(allowed.step):
            return False
        base = 0 if allowed.min is None else value(allowed.min)
        return (value(amount.text) - base) % value(allowed.step) != 0
    return bool(policy.valid_values) and all(amount.exact != parse(valid) for valid in policy.valid_values)
