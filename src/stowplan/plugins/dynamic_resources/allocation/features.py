"""The features of the allocator that a release has, and devices as it sees them.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/types.go (Features)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from stowplan import api
from stowplan.config.releases import DeviceRules, Release


@dataclass(frozen=True, slots=True)
class AllocatorFeatures:
    """Feature gates and rules of the allocator; by default all features of the latest release."""

    taints: bool = True
    counters: bool = True
    binding_conditions: bool = True
    capacity: bool = True
    rules: DeviceRules = field(default_factory=DeviceRules)

    @classmethod
    def of(cls, release: Release) -> AllocatorFeatures:
        return cls(
            taints=release.has("DRADeviceTaints"),
            counters=release.has("DRAPartitionableDevices"),
            binding_conditions=release.has("DRADeviceBindingConditions"),
            capacity=release.has("DRAConsumableCapacity"),
            rules=release.rules.devices,
        )

    @property
    def rejects_capacity(self) -> bool:
        return self.rules.rejects_capacity_requests and not self.capacity

    @property
    def rejects_distinct(self) -> bool:
        return self.rules.rejects_distinct_attributes and not self.capacity

    def visible(self, device: api.Device) -> api.Device:
        """The device without the fields of disabled features."""
        if not self.taints and device.taints:
            device = replace(device, taints=())
        if not self.capacity and (device.allow_multiple_allocations or device.capacity):
            capacity = {name: replace(each, request_policy=None) for name, each in device.capacity.items()}
            sharing = device.allow_multiple_allocations if self.rules.selectors_read_sharing else None
            device = replace(device, allow_multiple_allocations=sharing, capacity=capacity)
        return device

    def skips(self, slice_: api.ResourceSlice) -> bool:
        """Whether the slice is passed over, since it needs a disabled feature."""
        if self.counters:
            return False
        return slice_.spec.per_device_node_selection is not None or (
            self.rules.skips_counter_slices and bool(slice_.spec.shared_counters)
        )


ALL_FEATURES = AllocatorFeatures()
