"""The group resource.k8s.io: device classes and ResourceSlices.

Upstream: k8s.io/api/resource/v1/types.go
"""

from typing import Any

from msgspec import field

from stowplan.api.affinity import NodeSelector
from stowplan.api.meta import Int64, ObjectMeta, Quantity, Wire
from stowplan.api.read_only import EMPTY

__all__ = [
    "CELDeviceSelector", "CapacityRequestPolicy", "CapacityRequestPolicyRange", "Counter", "CounterSet", "Device",
    "DeviceAttribute", "DeviceCapacity", "DeviceClass", "DeviceClassConfiguration", "DeviceClassSpec",
    "DeviceCounterConsumption", "DeviceSelector", "DeviceTaint", "DeviceTaintRule", "DeviceTaintRuleSpec",
    "DeviceTaintSelector", "OpaqueDeviceConfiguration", "ResourcePool", "ResourceSlice", "ResourceSliceSpec",
]  # fmt: skip


class CELDeviceSelector(Wire, frozen=True, kw_only=True):
    """A CEL expression over one device."""

    expression: str = ""


class DeviceSelector(Wire, frozen=True, kw_only=True):
    """A condition on a device."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(Wire, frozen=True, kw_only=True):
    """Parameters for the driver; not interpreted."""

    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(Wire, frozen=True, kw_only=True):
    """Configuration of all devices that are allocated through a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Wire, frozen=True, kw_only=True):
    """The selectors of a class, its configuration, and the extended resource that it backs."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Wire, frozen=True, kw_only=True):
    """A device class."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceAttribute(Wire, frozen=True, kw_only=True):
    """An attribute; exactly one of the values is set."""

    int_value: Int64 | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string_value: str | None = field(default=None, name="string")
    version_value: str | None = field(default=None, name="version")
    int_values: tuple[Int64, ...] = field(default=(), name="ints")
    bool_values: tuple[bool, ...] = field(default=(), name="bools")
    string_values: tuple[str, ...] = field(default=(), name="strings")
    version_values: tuple[str, ...] = field(default=(), name="versions")


class CapacityRequestPolicyRange(Wire, frozen=True, kw_only=True):
    """Valid amounts of a request for shared capacity, as a range."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Wire, frozen=True, kw_only=True):
    """Valid amounts of a request for shared capacity."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Wire, frozen=True, kw_only=True):
    """A capacity of a device."""

    value: Quantity = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(Wire, frozen=True, kw_only=True):
    """An amount that devices of one pool share."""

    value: Quantity = 0


class CounterSet(Wire, frozen=True, kw_only=True):
    """Counters that devices consume together."""

    name: str = ""
    counters: dict[str, Counter] = EMPTY


class DeviceCounterConsumption(Wire, frozen=True, kw_only=True):
    """The counters of a set that a device consumes."""

    counter_set: str = ""
    counters: dict[str, Counter] = EMPTY


class DeviceTaint(Wire, frozen=True, kw_only=True):
    """A taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class DeviceTaintSelector(Wire, frozen=True, kw_only=True):
    """The devices that a rule taints; unset fields match all devices."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Wire, frozen=True, kw_only=True):
    """The taint of a rule and its selector."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Wire, frozen=True, kw_only=True):
    """An administrator's taint on devices that drivers publish."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class Device(Wire, frozen=True, kw_only=True):
    """One device, or one way to partition it."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = EMPTY
    capacity: dict[str, DeviceCapacity] = EMPTY
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class ResourcePool(Wire, frozen=True, kw_only=True):
    """The pool of a slice, its generation and its number of slices."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Wire, frozen=True, kw_only=True):
    """Devices of one driver, and the nodes that reach them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Wire, frozen=True, kw_only=True):
    """A driver's published devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()
