"""The group resource.k8s.io: ResourceClaims and their allocations.

Upstream: k8s.io/api/resource/v1/types.go
"""

from msgspec import field

from stowplan.api.affinity import NodeSelector
from stowplan.api.device import DeviceSelector, OpaqueDeviceConfiguration
from stowplan.api.meta import Condition, Int64, ObjectMeta, ResourceList, Wire
from stowplan.api.read_only import EMPTY

__all__ = [
    "AllocatedDeviceStatus", "AllocationResult", "CapacityRequirements", "DeviceAllocationConfiguration",
    "DeviceAllocationResult", "DeviceClaim", "DeviceClaimConfiguration", "DeviceConstraint", "DeviceRequest",
    "DeviceRequestAllocationResult", "DeviceSubRequest", "DeviceToleration", "ExactDeviceRequest", "ResourceClaim",
    "ResourceClaimConsumerReference", "ResourceClaimSpec", "ResourceClaimStatus", "ResourceClaimTemplate",
    "ResourceClaimTemplateSpec",
]  # fmt: skip


class DeviceToleration(Wire, frozen=True, kw_only=True):
    """Device taints that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Wire, frozen=True, kw_only=True):
    """The capacity that a request consumes."""

    requests: ResourceList = EMPTY


class ExactDeviceRequest(Wire, frozen=True, kw_only=True):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Wire, frozen=True, kw_only=True):
    """An alternative of a prioritized list."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Wire, frozen=True, kw_only=True):
    """A request: exactly one class, or the first available alternative."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Wire, frozen=True, kw_only=True):
    """An attribute that must match, or differ, among the devices of some requests."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Wire, frozen=True, kw_only=True):
    """Configuration of the devices of some requests."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Wire, frozen=True, kw_only=True):
    """Requests, constraints and configuration of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Wire, frozen=True, kw_only=True):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Wire, frozen=True, kw_only=True):
    """A device that is allocated for a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: ResourceList = EMPTY


class DeviceAllocationConfiguration(Wire, frozen=True, kw_only=True):
    """Configuration of an allocation, from the class or from the claim."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Wire, frozen=True, kw_only=True):
    """All devices of an allocation."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Wire, frozen=True, kw_only=True):
    """The allocated devices, and the nodes that reach them; no selector means all nodes."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Wire, frozen=True, kw_only=True):
    """A user of a claim (reservedFor)."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Wire, frozen=True, kw_only=True):
    """The driver's status of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """Allocation and users of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Wire, frozen=True, kw_only=True):
    """A claim of devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Wire, frozen=True, kw_only=True):
    """Metadata and spec of the created claims."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Wire, frozen=True, kw_only=True):
    """A template of claims."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
