"""Claims prepared for the search, from the claim and its device classes.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
(validateDeviceRequest)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.meta import Quantity
from stowplan.cache import Store
from stowplan.cel import DeviceSelectorProgram, compile_selector
from stowplan.plugins.dynamic_resources.allocation.devices import PublishedDevice
from stowplan.plugins.dynamic_resources.allocation.features import ALL_FEATURES, AllocatorFeatures

MAX_DEVICES = 32
"""Devices of one claim (AllocationResultsMaxSize)."""

ALL = "All"
EXACT_COUNT = "ExactCount"


class AllocationError(Exception):
    """An error that ends the search on all nodes. The allocator returns an AllocationFailure."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestedDevices:
    """A request, or one of the alternatives of a request."""

    name: str
    parent: str
    """The request that this is an alternative of; empty for an exact request."""
    device_class: api.DeviceClass
    spec: api.ExactDeviceRequest | api.DeviceSubRequest
    admin: bool
    selectors: tuple[tuple[str, int, DeviceSelectorProgram], ...]
    """(owner, number, selector)."""
    capacity: Mapping[str, Quantity]
    rank: int
    """The position among the alternatives."""

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base(self) -> str:
        return self.parent or self.name

    @property
    def alternative(self) -> str:
        return self.name if self.parent else ""

    @property
    def takes_all(self) -> bool:
        return self.spec.allocation_mode == ALL

    def selects(
        self, device: PublishedDevice, node: fwk.NodeInfo, check_time: Callable[[], None] = lambda: None
    ) -> bool:
        """Whether the device matches all selectors and the node can reach it. `check_time` runs before each selector.

        Raises AllocationError where a selector cannot be compiled or evaluated.
        """
        if not device.selectable:
            return False
        for owner, number, selector in self.selectors:
            check_time()
            if selector.error is not None:
                raise AllocationError(f"{owner}: selector #{number}: CEL compile error: {selector.error}")
            verdict = device.verdict(selector)
            if verdict is False:
                return False
            if verdict is not True:
                raise AllocationError(f"{owner}: selector #{number}: CEL runtime error: {verdict}")
        return device.reach is None or device.reach.covers(node)

    def tolerates(self, device: PublishedDevice) -> bool:
        return device.usable and all(
            any(_tolerates(t, taint) for t in self.spec.tolerations) for taint in device.blocking
        )


@dataclass(frozen=True, slots=True, eq=False)
class WantedClaim:
    """A claim with the alternatives of each request; an exact request has one."""

    claim: api.ResourceClaim
    key: str
    requests: tuple[tuple[RequestedDevices, ...], ...] = field(default=())
    is_plain: bool = False
    """Whether each request takes a number of devices, and nothing depends on which ones."""


def prepare(
    claim: api.ResourceClaim, classes: Store[api.DeviceClass], features: AllocatorFeatures = ALL_FEATURES
) -> WantedClaim:
    """Raises AllocationError if the claim is invalid."""
    key = f"{claim.metadata.namespace}/{claim.metadata.name}"
    for number, constraint in enumerate(claim.spec.devices.constraints):
        if constraint.match_attribute is None and (constraint.distinct_attribute is None or features.rejects_distinct):
            empty = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {key}, constraint #{number}: {empty}")
    requests: list[tuple[RequestedDevices, ...]] = []
    for request in claim.spec.devices.requests:
        if features.rejects_capacity and _has_capacity(request):
            disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
            raise AllocationError(f"claim {key}, request {request.name}: {disabled}")
        if request.first_available:
            subs = enumerate(request.first_available)
            requests.append(
                tuple(_wanted(key, sub.name, request.name, sub, classes, features, rank) for rank, sub in subs)
            )
        else:
            exactly = request.exactly or api.ExactDeviceRequest()
            requests.append((_wanted(key, request.name, "", exactly, classes, features),))
    return WantedClaim(claim, key, tuple(requests), _is_plain(claim, requests))


def _is_plain(claim: api.ResourceClaim, requests: Sequence[Sequence[RequestedDevices]]) -> bool:
    wanted = [alternatives[0] for alternatives in requests]
    return (
        not claim.spec.devices.constraints
        and not any(each.parent or each.takes_all or each.admin or each.capacity for each in wanted)
        and sum(each.spec.count for each in wanted) <= MAX_DEVICES
    )


def _has_capacity(request: api.DeviceRequest) -> bool:
    specs = (request.exactly, *request.first_available)
    return any(spec is not None and spec.capacity is not None for spec in specs)


def _wanted(
    key: str,
    name: str,
    parent: str,
    spec: api.ExactDeviceRequest | api.DeviceSubRequest,
    classes: Store[api.DeviceClass],
    features: AllocatorFeatures,
    rank: int = 0,
) -> RequestedDevices:
    at = f"claim {key}, request {name}"
    for number, selector in enumerate(spec.selectors):
        if selector.cel is None:
            raise AllocationError(f"{at}, selector #{number}: CEL expression empty (unsupported selector type?)")
    if not spec.device_class_name:
        raise AllocationError(f"{at}: missing device class name (unsupported request type?)")
    found = classes.get(spec.device_class_name)
    if found is None:
        missing = f'deviceclass.resource.k8s.io "{spec.device_class_name}" not found'
        raise AllocationError(f"{at}: could not retrieve device class {spec.device_class_name}: {missing}")
    if spec.allocation_mode not in (ALL, EXACT_COUNT):
        raise AllocationError(f"{at}: unsupported count mode {spec.allocation_mode}")
    admin = isinstance(spec, api.ExactDeviceRequest) and bool(spec.admin_access)
    selectors = (
        *_compiled(f"class {found.metadata.name}", found.spec.selectors),
        *_compiled(f"claim {key}", spec.selectors),
    )
    capacity = {} if spec.capacity is None or not features.capacity else spec.capacity.requests
    return RequestedDevices(name, parent, found, spec, admin, selectors, capacity, rank)


def _compiled(owner: str, selectors: Sequence[api.DeviceSelector]) -> list[tuple[str, int, DeviceSelectorProgram]]:
    return [
        (owner, number, compile_selector("" if selector.cel is None else selector.cel.expression))
        for number, selector in enumerate(selectors)
    ]


def _tolerates(toleration: api.DeviceToleration, taint: api.DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
