"""One minor release of kube-scheduler: its feature gates, and the rules that changed without a gate.

The defaults of every rule are those of the latest release, so a row of the table names only what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple


class FeatureGate(NamedTuple):
    """Stage ("" for GA), default, and whether the gate is locked to it."""

    stage: str
    default: bool
    locked: bool


@dataclass(frozen=True, kw_only=True)
class DeviceRules:
    """Dynamic resource allocation."""

    skips_incomplete_pools: bool = True
    """Nothing is allocated from a pool some of whose slices are missing, wherever they are. Otherwise only the slices
    for the node count, and only a request for all devices needs all of them."""
    skips_counter_slices: bool = False
    """Slices with shared counters are passed over while the gate DRAPartitionableDevices is off."""
    rejects_capacity_requests: bool = False
    """A request with `capacity` is an error while the gate DRAConsumableCapacity is off; otherwise it is ignored."""
    rejects_distinct_attributes: bool = False
    """A constraint with `distinctAttribute` is an error while that gate is off."""
    selectors_read_sharing: bool = True
    """Selectors read `allowMultipleAllocations` of devices also while that gate is off."""
    search_timeout_is_error: bool = True
    """A search that exceeds filterTimeout is an error; otherwise the node is rejected."""
    keeps_alternative: bool = True
    """An alternative with allocationMode All is allocated as a whole. Otherwise the search continues after its first
    device as if in the first alternative, and the second alternative takes the devices of the first if both ask for
    all."""
    allocatable_wakes: bool = True
    """DynamicResources tries a pod again after a change of a node's allocatable resources."""
    classes_wake_fit: bool = True
    """NodeResourcesFit tries a pod again after a device class begins to provide an extended resource, and regards such
    a class in events of nodes, while the gate DRAExtendedResource is on."""
    not_owner: str = "ResourceClaim {claim} was not created for Pod {pod} (Pod is not owner)"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules and texts that changed without a feature gate."""

    balance_improvement: bool = True
    """NodeResourcesBalancedAllocation scores how the balance changes; otherwise the balance with the pod."""
    too_small_is_unresolvable: bool = True
    """NodeResourcesFit reports UnschedulableAndUnresolvable for a node that is too small when empty."""
    untolerated_taint: str = "node(s) had untolerated taint(s)"
    """TaintToleration's reason; `{key}` and `{value}` are those of the first untolerated taint."""
    read_write_once_pod: str = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another"
        " pod"
    )
    """VolumeRestrictions' reason for a claim in use."""
    image_volumes: bool = True
    """ImageLocality counts the images of volumes."""
    namespace_selector_without_labels: bool = True
    """InterPodAffinity matches the namespace selector of an incoming pod's term against an empty set of labels too, so
    that NotIn and DoesNotExist select every namespace."""
    leaving_anti_affinity_wakes: bool = True
    """InterPodAffinity tries a pod again after the deletion of a pod whose anti-affinity matches it, after its own
    update, and after changes of nominated pods. Otherwise only pods that are assigned count, by the waiting pod's own
    terms."""
    evicts_terminating_victims: bool = False
    """DefaultPreemption evicts victims that terminate already once more."""
    cancels_pre_bind: bool = True
    """DefaultPreemption cancels the binding of a victim in PreBind, and the event of a victim whose binding ended that
    way says so. Otherwise such a victim is deleted."""
    preempted_refers_to_preemptor: bool = False
    """The event of a victim has the preemptor as its related object."""
    rejects_unused_ratio: bool = True
    """The configuration rejects `requestedToCapacityRatio` in a scoring strategy of another type."""
    devices: DeviceRules = field(default_factory=DeviceRules)


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A minor release. Compared by identity."""

    version: str
    """Major and minor number, such as "1.36"."""
    patch: str
    """The patch release whose verdicts are recorded."""
    gates: Mapping[str, FeatureGate]
    enabled: frozenset[str]
    """The gates that are on: the defaults, or as set with `with_gates`."""
    rules: Rules = field(default_factory=Rules)
    weights: Mapping[str, int] = field(default_factory=dict)
    """Default weights of plugins that differ from the latest release."""
    later_plugins: frozenset[str] = frozenset()
    """Default plugins of the latest release that this release does not have."""
    later_points: frozenset[str] = frozenset()
    """Extension points of the latest release that a configuration of this release does not have."""
    later_score_plugins: frozenset[str] = frozenset()
    """Plugins that score in the latest release and do not in this one."""
    idle_plugins: frozenset[str] = frozenset()
    """Plugins that a configuration may enable and that do nothing."""

    def has(self, gate: str) -> bool:
        """Whether a feature gate exists and is on."""
        return gate in self.enabled

    def with_gates(self, values: Mapping[str, bool]) -> Release:
        """The release with other values of some gates."""
        enabled = self.enabled.difference(values).union(name for name, value in values.items() if value)
        return self if enabled == self.enabled else replace(self, enabled=enabled)

    def __str__(self) -> str:
        return f"v{self.version}"
