"""Constraints of a claim: matchAttribute and distinctAttribute.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go,
k8s.io/dynamic-resource-allocation/structured/internal/incubating/constraint.go
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from stowplan import api
from stowplan.plugins.dynamic_resources.allocation.devices import UNKNOWN, Attribute, PublishedDevice


class ConstraintState(Protocol):
    """Checks devices as the search adds and removes them. Each successful `add` is undone by one `remove`."""

    def add(self, request: str, subrequest: str, device: PublishedDevice) -> bool: ...

    def remove(self, request: str, subrequest: str) -> None: ...

    def fingerprint(self) -> Hashable:
        """The state that later calls of `add` depend on."""
        ...


class _OverRequests:
    """A constraint on an attribute of the devices of some requests, or of all requests."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._count = 0

    def _concerns(self, request: str, subrequest: str) -> bool:
        named = self._requests
        return not named or request in named or (bool(subrequest) and f"{request}/{subrequest}" in named)


class MatchAttribute(_OverRequests):
    """matchAttribute: all devices have the same value."""

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
    """distinctAttribute: devices of different requests have different values.

    As upstream, only the latest value of each request is kept: within a request only neighbours differ.
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


def constraint(spec: api.DeviceConstraint) -> ConstraintState | None:
    """The constraint of a claim; None if its kind is unknown."""
    if spec.match_attribute is not None:
        return MatchAttribute(spec.requests, spec.match_attribute)
    if spec.distinct_attribute is not None:
        return DistinctAttribute(spec.requests, spec.distinct_attribute)
    return None
