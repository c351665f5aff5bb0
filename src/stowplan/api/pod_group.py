"""The group scheduling.k8s.io/v1alpha2: PodGroups and Workloads; and the PodGroups of the plugin Coscheduling.

`POD_GROUP_VERSIONS` is the only place that depends on the version: the scheduler reads a PodGroup of any served version
through `PodGroupRules`.

Upstream: k8s.io/api/scheduling/v1alpha2/types.go
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from stowplan.api.coscheduling import CoschedulingPodGroup
from stowplan.api.meta import Condition, Int32, ObjectMeta, Wire
from stowplan.api.names import label_key_errors
from stowplan.api.pod import PodResourceClaim, PodResourceClaimStatus

__all__ = [
    "BasicSchedulingPolicy", "GangSchedulingPolicy", "PodGroup", "PodGroupRules", "PodGroupSchedulingConstraints",
    "PodGroupSchedulingPolicy", "PodGroupSpec", "PodGroupStatus", "PodGroupTemplate", "PodGroupTemplateReference",
    "TopologyConstraint", "TypedLocalObjectReference", "Workload", "WorkloadPodGroupTemplateReference", "WorkloadSpec",
]  # fmt: skip

POD_GROUP_SCHEDULED = "PodGroupScheduled"
"""The condition of a PodGroup that the scheduler writes."""

COSCHEDULING_LABEL = "scheduling.x-k8s.io/pod-group"
"""The label with the name of a pod's group of the plugin Coscheduling."""

PREFERRED_TOPOLOGY = "scheduling.stowplan.io/preferred-topology"
"""The annotation of a PodGroup with node labels, the narrowest first, of which all members should have one value."""

MAX_PREFERRED_KEYS = 4

DISRUPTION_MODES = ("Pod", "PodGroup")


class BasicSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """Members are tried together; any number of them may run."""


class GangSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """At least `min_count` members run, or none."""

    min_count: Int32 = 0


class PodGroupSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """Exactly one policy."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """All members run in one domain of a node label."""

    key: str = ""


class PodGroupSchedulingConstraints(Wire, frozen=True, kw_only=True):
    """Constraints on the placement of the group; at most one topology key."""

    topology: tuple[TopologyConstraint, ...] = ()


class WorkloadPodGroupTemplateReference(Wire, frozen=True, kw_only=True):
    """A template in a Workload."""

    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(Wire, frozen=True, kw_only=True):
    """The template that the group was made from."""

    workload: WorkloadPodGroupTemplateReference | None = None


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    """Policy, constraints, priority and shared claims of a group."""

    pod_group_template_ref: PodGroupTemplateReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None


class PodGroupStatus(Wire, frozen=True, kw_only=True):
    """Conditions, and the claims that were made for the group."""

    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroup(Wire, frozen=True, kw_only=True):
    """Pods that are scheduled together. A pod names its group in `spec.schedulingGroup`."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    def condition(self, kind: str) -> Condition | None:
        return next((condition for condition in self.status.conditions if condition.type == kind), None)


class TypedLocalObjectReference(Wire, frozen=True, kw_only=True):
    """The object that a Workload describes."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class PodGroupTemplate(Wire, frozen=True, kw_only=True):
    """A template of PodGroups."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    """Templates of the groups of one workload."""

    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Wire, frozen=True, kw_only=True):
    """Templates of PodGroups for controllers; the scheduler does not read Workloads."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class PodGroupRules(NamedTuple):
    """What the scheduler reads of a PodGroup, whatever the version of its API."""

    uid: str = ""
    min_count: int | None = None
    """For a gang: the number of members that have to run together; None for the basic policy."""
    topology_key: str = ""
    """The node label of which all members need the same value; "" for none."""
    constrained: bool = False
    """Whether the group has an object `schedulingConstraints`, possibly an empty one."""
    priority: int = 0
    disrupted_as_one: bool = False
    """Whether preemption evicts all members or none (disruptionMode PodGroup)."""
    claims: tuple[PodResourceClaim, ...] = ()
    """The ResourceClaims that the members share."""
    preferred_keys: tuple[str, ...] = ()
    """Node labels of which all members should have the same value, the narrowest first. A domain of a label lies within
    one domain of each label after it."""


def _preferred_keys(metadata: ObjectMeta) -> tuple[str, ...]:
    return tuple(key for key, problem in _preferences(metadata) if not problem)


def preference_problems(metadata: ObjectMeta) -> tuple[str, ...]:
    """Why keys of the annotation PREFERRED_TOPOLOGY are ignored."""
    return tuple(f"{key!r} {problem}" for key, problem in _preferences(metadata) if problem)


def _preferences(metadata: ObjectMeta) -> Iterator[tuple[str, str]]:
    """(key, "" or why it is ignored) of the annotation."""
    valid: set[str] = set()
    for part in metadata.annotations.get(PREFERRED_TOPOLOGY, "").split(","):
        key = part.strip()
        if not key:
            continue
        if label_key_errors(key):
            yield key, "is not the key of a label"
        elif key in valid:
            yield key, "occurs twice"
        elif len(valid) == MAX_PREFERRED_KEYS:
            yield key, f"is one key too many: at most {MAX_PREFERRED_KEYS} count"
        else:
            valid.add(key)
            yield key, ""


def _read_v1alpha2(group: PodGroup) -> PodGroupRules:
    spec = group.spec
    constraints = spec.scheduling_constraints
    topology = () if constraints is None else constraints.topology
    gang = spec.scheduling_policy.gang
    return PodGroupRules(
        uid=group.metadata.uid,
        min_count=None if gang is None else gang.min_count,
        topology_key=topology[0].key if topology else "",
        constrained=constraints is not None,
        priority=spec.priority or 0,
        disrupted_as_one=spec.disruption_mode == "PodGroup",
        claims=spec.resource_claims,
        preferred_keys=_preferred_keys(group.metadata),
    )


def _read_coscheduling(group: CoschedulingPodGroup) -> PodGroupRules:
    return PodGroupRules(
        uid=group.metadata.uid,
        min_count=max(group.spec.min_member, 1),
        preferred_keys=_preferred_keys(group.metadata),
    )


POD_GROUP_VERSIONS: Mapping[type[Any], Callable[[Any], PodGroupRules]] = MappingProxyType(
    {PodGroup: _read_v1alpha2, CoschedulingPodGroup: _read_coscheduling}
)
"""By the struct of a served version: how its PodGroups are read. Of two groups with one name, the first kind counts."""


def pod_group_rules(group: Wire) -> PodGroupRules:
    """The rules of a PodGroup of any version in `POD_GROUP_VERSIONS`."""
    return POD_GROUP_VERSIONS[type(group)](group)
