"""The values of feature gates. Gates that change decisions keep the defaults of the release, with few exceptions.

Upstream: pkg/features/kube_features.go, k8s.io/component-base/featuregate/feature_gate.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan.config.flags.values import BOOL
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError

_ALL_BETA = "AllBeta"
"""Changes other gates even with its default value."""

_FIXED = frozenset(
    (
        "AllAlpha",
        "AllBeta",
        "CSIMigrationPortworx",
        "CoordinatedLeaderElection",
        "DRAAdminAccess",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRASchedulerFilterTimeout",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScaling",
        "MatchLabelKeysInPodTopologySpread",
        "NodeDeclaredFeatures",
        "NodeInclusionPolicyInPodTopologySpread",
        "NominatedNodeNameForExpectation",
        "OpportunisticBatching",
        "PodLevelResources",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
        "SidecarContainers",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "VolumeAttributesClass",
        "VolumeLimitScaling",
    )
)
"""Gates that change decisions and cannot be changed."""

TAINT_RULES = "DRADeviceTaintRules"
"""Whether DeviceTaintRules are read. Can be changed."""
DYNAMIC_RESOURCES = "DynamicResourceAllocation"
"""Whether claims of pods are served. Can be changed where the release does not lock it."""

GENERIC_WORKLOAD = "GenericWorkload"
GANG_SCHEDULING = "GangScheduling"
TOPOLOGY_AWARE = "TopologyAwareWorkloadScheduling"
WORKLOAD_PREEMPTION = "WorkloadAwarePreemption"
WORKLOAD_CLAIMS = "DRAWorkloadResourceClaims"

COSCHEDULING = "stowplan.coscheduling"
"""Whether PodGroups of scheduling.x-k8s.io/v1alpha1 are scheduled as gangs. A switch of our own, not a feature gate."""
COSCHEDULING_GATES = {GENERIC_WORKLOAD: True, GANG_SCHEDULING: True, COSCHEDULING: True}

STALE_ANTI_AFFINITY = "stale-anti-affinity"
EAGER_EVICTION = "eager-eviction"
OWN_MEMBERS = "own-members"
UNRESERVED_ROOM = "unreserved-room"
INCOMPLETE_GANGS = "incomplete-gangs"
WAITING_NOMINATIONS = "waiting-nominations"
BUSY_RETRIES = "busy-retries"
SHARED_VOLUMES = "shared-volumes"
SHARED_CLAIMS = "shared-claims"

GROUP_DIFFERENCES = {
    STALE_ANTI_AFFINITY: "required anti-affinity of a member is ignored for the members after it on most nodes",
    EAGER_EVICTION: "members preempt although their gang does not fit anyway",
    OWN_MEMBERS: "a group may evict its own running members",
    UNRESERVED_ROOM: "room that is made for a group as a whole is reserved for no pod",
    INCOMPLETE_GANGS: "members hold their room for up to five minutes after another member failed",
    WAITING_NOMINATIONS: "members are nominated to their nodes while the gang is completed",
    BUSY_RETRIES: "a group that does not fit is retried without an event, and without a pause while no pod is queued",
    SHARED_VOLUMES: "two members may use a ReadWriteOncePod claim",
    SHARED_CLAIMS: "members that share a ResourceClaim that is being allocated go to any node, and fail at PreBind",
}
"""Behaviour of kube-scheduler v1.36 with pod groups that can be switched on: --kube-scheduler-group-behavior."""


def group_difference(name: str) -> str:
    """The switch in a release, which is not a feature gate."""
    return f"stowplan.groups.{name}"


def group_differences(names: Iterable[str]) -> dict[str, bool]:
    """Switches by name. Raises ConfigError for an unknown name."""
    for name in names:
        if name not in GROUP_DIFFERENCES:
            known = ", ".join(GROUP_DIFFERENCES)
            raise ConfigError(f"--kube-scheduler-group-behavior: unknown behavior {name!r}; known are {known}")
    return {group_difference(name): True for name in names}


_DEPENDENCIES = {
    GANG_SCHEDULING: (GENERIC_WORKLOAD,),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    WORKLOAD_PREEMPTION: (GANG_SCHEDULING,),
    WORKLOAD_CLAIMS: (GENERIC_WORKLOAD,),
    "WorkloadWithJob": (GENERIC_WORKLOAD,),
}
"""Gates of pod groups, and the gates that each of them needs besides those that are on by default."""

_GROUP_GATES = (GENERIC_WORKLOAD, GANG_SCHEDULING, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION, WORKLOAD_CLAIMS)
"""Can be changed in the latest release; earlier ones have another API of groups."""


def parse_gates(items: Iterable[str], release: Release = LATEST) -> dict[str, bool]:
    """All gates of the release with the given values.

    Raises ConfigError, in kube-scheduler's words where it has an error.
    """
    given: dict[str, bool] = {}
    prefixes = set()
    for item in filter(None, items):
        component, _, pair = item.rpartition(":")
        prefixes.add(component)
        if component not in ("", "kube"):
            raise ConfigError(f"component not registered: {component}")
        name, separator, text = pair.partition("=")
        if not separator:
            raise ConfigError(f"missing bool value for {name}")
        try:
            given[name.strip()] = BOOL.read(text.strip())
        except ValueError as error:
            raise ConfigError(f"invalid value of {name}={text}, err: {error}") from None
    if len(prefixes) > 1:
        mixed = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
        raise ConfigError(mixed)
    for name, value in given.items():
        _check(name, value, release)
    gates = {name: release.has(name) for name in release.gates} | given
    check_dependencies(gates)
    return gates


def check_dependencies(gates: Mapping[str, bool]) -> None:
    """Raises ConfigError for a gate that is on without a gate that it needs."""
    for name, needed in _DEPENDENCIES.items():
        missing = [each for each in needed if not gates.get(each)]
        if gates.get(name) and missing:
            raise ConfigError(f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")


def _check(name: str, value: bool, release: Release) -> None:
    gate = release.gates.get(name)
    if gate is None:
        raise ConfigError(f"unrecognized feature gate: {name}")
    if value == gate.default and name != _ALL_BETA:
        return
    shown = str(gate.default).lower()
    if gate.locked:
        raise ConfigError(f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {shown}")
    if name in _FIXED or (name in _GROUP_GATES and release.version != LATEST.version):
        raise ConfigError(
            f"--feature-gates: {name} cannot be changed: pods are scheduled as with the default gates of {release}"
        )
