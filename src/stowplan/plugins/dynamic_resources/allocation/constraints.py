"""What devices of a claim must have in common, or must not."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from stowplan import api
from stowplan.plugins.dynamic_resources.allocation.devices import UNKNOWN, Attribute, PublishedDevice


class DeviceConstraint(Protocol):
    """Fed with devices while they are tried. Each `add` that succeeded is undone by one `remove` of the same."""

    def add(self, request: str, subrequest: str, device: PublishedDevice) -> bool: ...

    def remove(self, request: str, subrequest: str) -> None: ...

    def fingerprint(self) -> Hashable:
        """All that decides about devices to come."""
        ...


class _OverRequests:
    """A constraint on an attribute of the devices of some requests, or of all of them."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._count = 0

    def _concerns(self, request: str, subrequest: str) -> bool:
        named = self._requests
        return not named or request in named or (bool(subrequest) and f"{request}/{subrequest}" in named)


class MatchAttribute(_OverRequests):
    """All devices have the same value."""

    _value: Attribute = UNKNOWN

    def add(self, request: str, subrequest: str, device: PublishedDevice) -> bool:
        if not self._concerns(request, subrequest):
            return True
        value = device.attribute(self._attribute)
        if value is None:
            return False
        if self._count == 0:
            self._value = value
        elif value is UNKNOWN or value != self._value:
            return False
        self._count += 1
        return True

    def remove(self, request: str, subrequest: str) -> None:
        if self._concerns(request, subrequest):
            self._count -= 1

    def fingerprint(self) -> Hashable:
        return self._count, self._value


class DistinctAttribute(_OverRequests):
    """Devices of different requests have different values.

    As upstream has it, one value is remembered for each request, the latest: within a request only neighbours differ.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, Attribute] = {}

    def add(self, request: str, subrequest: str, device: PublishedDevice) -> bool:
        if not self._concerns(request, subrequest):
            return True
        value = device.attribute(self._attribute)
        if value is None:
            return False
        if self._count and self._values and (value is UNKNOWN or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str, subrequest: str) -> None:
        if self._concerns(request, subrequest):
            self._values.pop(request, None)
            self._count -= 1

    def fingerprint(self) -> Hashable:
        return self._count, tuple(self._values.items())


def constraint(spec: api.DeviceConstraint) -> DeviceConstraint | None:
    """The constraint that a claim states; None for one of a kind that is not known."""
    if spec.match_attribute is not None:
        return MatchAttribute(spec.requests, spec.match_attribute)
    if spec.distinct_attribute is not None:
        return DistinctAttribute(spec.requests, spec.distinct_attribute)
    return None
