"""Args of the optional plugins, named and spelled as in kubernetes-sigs/scheduler-plugins.

Upstream: sigs.k8s.io/scheduler-plugins/apis/config/types.go, sigs.k8s.io/scheduler-plugins/apis/config/validation
"""

from typing import Self

import msgspec

from stowplan.api.meta import Int32, Int64
from stowplan.config.args.fractional_gpu import FractionalGPUArgs
from stowplan.config.args.in_tree import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    DefaultPreemptionArgs,
    PluginArgs,
    ResourceSpec,
)
from stowplan.config.args.trimaran import (
    LoadVariationRiskBalancingArgs,
    LowRiskOverCommitmentArgs,
    TargetLoadPackingArgs,
)
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import Strict

ZERO, UNLIMITED = "Zero", "Unlimited"
LEAST, MOST = "Least", "Most"
LABEL, ANNOTATION = "Label", "Annotation"
METADATA_STRATEGIES = {"Number": ("Highest", "Lowest"), "Timestamp": ("Newest", "Oldest")}
"""Scoring strategies by metadataType; the first prefers high values."""
LEAST_NUMA_NODES = "LeastNUMANodes"
TOPOLOGY_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, "BalancedAllocation", LEAST_NUMA_NODES)
_TOPOLOGY_CACHE_CHOICES = {
    "foreignPodsDetect": ("All", "None", "OnlyExclusiveResources"),
    "resyncMethod": ("Autodetect", "All", "OnlyExclusiveResources"),
    "informerMode": ("Dedicated", "Shared"),
    "resyncScope": ("All", "OnlyResources"),
}
_CPU_AND_MEMORY = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
RFC_3339 = "2006-01-02T15:04:05Z07:00"
_ALLOCATABLE_RESOURCES = (ResourceSpec(name="cpu", weight=1 << 20), ResourceSpec(name="memory", weight=1))


class NoArgs(PluginArgs, frozen=True, kw_only=True):
    """Args of a plugin without any."""


class NodeResourcesAllocatableArgs(PluginArgs, frozen=True, kw_only=True):
    """Resources whose allocatable amounts are summed, with weights, and whether small or large nodes are preferred."""

    resources: tuple[ResourceSpec, ...] = _ALLOCATABLE_RESOURCES
    mode: str = LEAST

    def completed(self) -> Self:
        resources = self.resources or _ALLOCATABLE_RESOURCES
        return msgspec.structs.replace(self, resources=resources, mode=self.mode or LEAST)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.mode not in (LEAST, MOST):
            problems.invalid(f"{path}.mode", self.mode, "invalid support ModeType")
        for index, resource in enumerate(self.resources):
            if resource.weight <= 0:
                detail = f"resource weight of {resource.name} should be a positive value, got :{resource.weight}"
                problems.invalid(f"{path}.resources[{index}].weight", resource.weight, detail)


class CapacitySchedulingArgs(PluginArgs, frozen=True, kw_only=True):
    """Stowplan's own: upstream's plugin has no args."""

    unlisted_max: str = ZERO

    def completed(self) -> Self:
        return msgspec.structs.replace(self, unlisted_max=self.unlisted_max or ZERO)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        _check_choice("unlistedMax", self.unlisted_max, (ZERO, UNLIMITED), path, problems)


class CoschedulingArgs(PluginArgs, frozen=True, kw_only=True):
    """Times of groups, and the share of missing members with which a group is not rejected."""

    permit_waiting_time_seconds: Int64 = 60
    pod_group_backoff_seconds: Int64 = 0
    pod_group_reject_percentage: Int32 = 10

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        for field, seconds in (
            ("permitWaitingTimeSeconds", self.permit_waiting_time_seconds),
            ("podGroupBackoffSeconds", self.pod_group_backoff_seconds),
        ):
            if seconds < 0:
                problems.invalid(f"{path}.{field}", seconds, "must be greater than 0")
        if not 0 <= self.pod_group_reject_percentage <= 100:
            value = self.pod_group_reject_percentage
            problems.invalid(f"{path}.podGroupRejectPercentage", value, "must be between 0 and 100")


class NodeMetadataArgs(PluginArgs, frozen=True, kw_only=True):
    """The label or annotation of nodes to score by, and its interpretation as a number or a time."""

    metadata_key: str = ""
    metadata_source: str = ""
    metadata_type: str = ""
    scoring_strategy: str = ""
    timestamp_format: str = RFC_3339

    def completed(self) -> Self:
        return msgspec.structs.replace(self, timestamp_format=self.timestamp_format or RFC_3339)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if not self.metadata_key:
            problems.invalid(f"{path}.metadataKey", "", "metadataKey cannot be empty")
        _check_choice("metadataSource", self.metadata_source, (LABEL, ANNOTATION), path, problems)
        _check_choice("metadataType", self.metadata_type, tuple(METADATA_STRATEGIES), path, problems)
        strategies = METADATA_STRATEGIES.get(self.metadata_type)
        if strategies:
            _check_choice("scoringStrategy", self.scoring_strategy, strategies, path, problems)


def _check_choice(field: str, given: str, choices: tuple[str, ...], path: str, problems: Problems) -> None:
    if given not in choices:
        quoted = " or ".join(f'"{choice}"' for choice in choices)
        problems.invalid(f"{path}.{field}", given, f"{field} must be either {quoted}")


class TopologyScoringStrategy(Strict, frozen=True, kw_only=True):
    """How NUMA zones are scored. A weight of 0 means 1."""

    type: str = LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY


class TopologyCacheArgs(Strict, frozen=True, kw_only=True):
    """How reports are compared with the pods of a node, if cacheResyncPeriodSeconds is above 0."""

    foreign_pods_detect: str = "All"
    resync_method: str = "Autodetect"
    informer_mode: str = "Dedicated"
    resync_scope: str = "All"


class NodeResourceTopologyMatchArgs(PluginArgs, frozen=True, kw_only=True):
    """The scores of NUMA zones, and the treatment of nodes between two reports of their agents."""

    scoring_strategy: TopologyScoringStrategy = TopologyScoringStrategy()
    cache_resync_period_seconds: Int64 = 0
    discard_reserved_nodes: bool = False
    cache: TopologyCacheArgs = TopologyCacheArgs()
    preemption_mode: str = "Disabled"

    def completed(self) -> Self:
        strategy, cache = self.scoring_strategy, self.cache
        resources = tuple(r if r.weight else ResourceSpec(name=r.name) for r in strategy.resources) or _CPU_AND_MEMORY
        strategy = msgspec.structs.replace(strategy, type=strategy.type or LEAST_ALLOCATED, resources=resources)
        given = {field: getattr(cache, field) for field in cache.__struct_fields__ if getattr(cache, field)}
        mode = self.preemption_mode or "Disabled"
        return msgspec.structs.replace(
            self, scoring_strategy=strategy, cache=TopologyCacheArgs(**given), preemption_mode=mode
        )

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.scoring_strategy.type not in TOPOLOGY_STRATEGIES:
            problems.invalid(f"{path}.scoringStrategy.type", self.scoring_strategy.type, "invalid ScoringStrategyType")
        if self.cache_resync_period_seconds < 0:
            value = self.cache_resync_period_seconds
            problems.invalid(f"{path}.cacheResyncPeriodSeconds", value, "must not be negative")
        for field, choices in _TOPOLOGY_CACHE_CHOICES.items():
            _check_choice(field, getattr(self.cache, _snake(field)), choices, f"{path}.cache", problems)
        if self.preemption_mode == "Enabled":
            detail = "not supported: reports do not show in which zone a pod runs"
            problems.invalid(f"{path}.preemptionMode", self.preemption_mode, detail)
        elif self.preemption_mode != "Disabled":
            problems.invalid(f"{path}.preemptionMode", self.preemption_mode, "invalid PreemptionMode")


def _snake(field: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in field)


class PreemptionTolerationArgs(DefaultPreemptionArgs, frozen=True, kw_only=True):
    """Number of candidate nodes in preemption, as for DefaultPreemption."""


OPTIONAL_ARGS: dict[str, type[PluginArgs]] = {
    "CapacityScheduling": CapacitySchedulingArgs,
    "Coscheduling": CoschedulingArgs,
    "LoadVariationRiskBalancing": LoadVariationRiskBalancingArgs,
    "LowRiskOverCommitment": LowRiskOverCommitmentArgs,
    "FractionalGPU": FractionalGPUArgs,
    "NodeMetadata": NodeMetadataArgs,
    "NodeResourceTopologyMatch": NodeResourceTopologyMatchArgs,
    "NodeResourcesAllocatable": NodeResourcesAllocatableArgs,
    "PodState": NoArgs,
    "PreemptionToleration": PreemptionTolerationArgs,
    "QOSSort": NoArgs,
    "TargetLoadPacking": TargetLoadPackingArgs,
}
"""Args type by plugin. The keys are the optional plugins."""
