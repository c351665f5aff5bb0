"""Pods.

Upstream: k8s.io/api/core/v1/types.go
"""

from msgspec import field

from stowplan.api.affinity import Affinity, Toleration, TopologySpreadConstraint
from stowplan.api.meta import Condition, Int32, Int64, ObjectMeta, ResourceList, Wire
from stowplan.api.read_only import EMPTY
from stowplan.api.volumes import Volume

__all__ = [
    "Container", "ContainerExtendedResourceRequest", "ContainerPort", "ContainerResourceClaim",
    "ContainerRestartRule", "ContainerStatus", "Pod", "PodExtendedResourceClaimStatus", "PodResourceClaim",
    "PodResourceClaimStatus", "PodSchedulingGate", "PodSchedulingGroup", "PodSpec", "PodStatus", "PodTemplateSpec",
    "ResourceRequirements",
]  # fmt: skip


class ContainerResourceClaim(Wire, frozen=True, kw_only=True):
    """A container's use of one of the pod's resource claims (upstream's core/v1 ResourceClaim)."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Wire, frozen=True, kw_only=True):
    """Requests, limits and claims of a container or of a whole pod."""

    requests: ResourceList = EMPTY
    limits: ResourceList = EMPTY
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port of a container, and its host port."""

    name: str = ""
    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ContainerRestartRule(Wire, frozen=True, kw_only=True):
    """The action for an exit of a container."""

    action: str = ""


class Container(Wire, frozen=True, kw_only=True):
    """A container; an init container with restart policy Always is a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PodSchedulingGate(Wire, frozen=True, kw_only=True):
    """A scheduling gate."""

    name: str = ""


class PodResourceClaim(Wire, frozen=True, kw_only=True):
    """A resource claim by name, or the template of one."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Wire, frozen=True, kw_only=True):
    """The pod group of the pod."""

    pod_group_name: str | None = None


class PodSpec(Wire, frozen=True, kw_only=True):
    """The fields of a pod's spec that scheduling reads."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_selector: dict[str, str] = EMPTY
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    overhead: ResourceList = EMPTY
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None


class ContainerStatus(Wire, frozen=True, kw_only=True):
    """The resources of a running container, which differ from the spec during an in-place resize."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = EMPTY


class PodResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The claim created from a template; no name if none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Wire, frozen=True, kw_only=True):
    """Which request of the special claim backs a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The special claim behind the pod's extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


FINISHED_PHASES = ("Succeeded", "Failed")
"""Phases in which a pod no longer uses its node."""


class PodStatus(Wire, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = EMPTY
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(Wire, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Wire, frozen=True, kw_only=True):
    """The pod template of a workload."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
