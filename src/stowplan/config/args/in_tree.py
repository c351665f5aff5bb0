"""Args of the in-tree plugins: `pluginConfig` entries of kind `<Plugin>Args`.

Upstream: pkg/scheduler/apis/config/types_pluginargs.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go
"""

from typing import Self

import msgspec

from stowplan.api.affinity import NodeAffinity, NodeSelectorTerm, TopologySpreadConstraint
from stowplan.api.meta import Int32, Int64
from stowplan.api.names import label_key_errors
from stowplan.api.node_selectors import term_errors
from stowplan.config.duration import Duration
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import Strict

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
SCORING_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_MAX_SHAPE_SCORE = 10


class PluginArgs(Strict, frozen=True, kw_only=True):
    """Base of all args."""

    def completed(self) -> Self:
        """With defaults for fields that are given but empty or zero."""
        return self

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        """Report every value that kube-scheduler rejects."""

    def redacted(self) -> Self:
        """Without credentials, for pages."""
        return self


class ResourceSpec(Strict, frozen=True, kw_only=True):
    """A resource to score by. Weight 0 means 1."""

    name: str = ""
    weight: Int64 = 1


_CPU_AND_MEMORY = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class UtilizationShapePoint(Strict, frozen=True, kw_only=True):
    """The score, up to 10, that a node gets at this utilization in percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(Strict, frozen=True, kw_only=True):
    """The score as a piecewise linear function of utilization."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Strict, frozen=True, kw_only=True):
    """Scoring strategy of NodeResourcesFit. A given strategy must have a type."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(PluginArgs, frozen=True, kw_only=True):
    """Number of candidate nodes in preemption."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
        _check_range(percentage, 0, 100, percentage_path, problems)
        if absolute < 0:
            problems.invalid(absolute_path, absolute, "not in valid range [0, inf)")
        if percentage == 0 and absolute == 0:
            both = "cannot be zero at the same time as"
            problems.invalid(percentage_path, 0, f"{both} minCandidateNodesAbsolute")
            problems.invalid(absolute_path, 0, f"{both} minCandidateNodesPercentage")


class InterPodAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """Weight of existing pods' required affinity in scoring, and whether their preferences are ignored."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        _check_range(self.hard_pod_affinity_weight, 0, 100, f"{path}.hardPodAffinityWeight", problems)


class NodeAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """Node affinity that is added to every pod's own."""

    added_affinity: NodeAffinity | None = None

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.added_affinity is None:
            return
        required = self.added_affinity.required_during_scheduling_ignored_during_execution
        base = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms if required else ()):
            _check_term(term, f"{base}[{index}]", problems)
        base = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        for index, preferred in enumerate(self.added_affinity.preferred_during_scheduling_ignored_during_execution):
            if preferred.weight:  # Others are not evaluated.
                _check_term(preferred.preference, f"{base}[{index}].preference", problems)


class NodeResourcesFitArgs(PluginArgs, frozen=True, kw_only=True):
    """Resources that the filter ignores, and the scoring strategy."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED, resources=_CPU_AND_MEMORY)

    def completed(self) -> Self:
        strategy = self.scoring_strategy
        strategy = msgspec.structs.replace(strategy, resources=_completed_resources(strategy.resources))
        return msgspec.structs.replace(self, scoring_strategy=strategy)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        for index, resource in enumerate(self.ignored_resources):
            _check_label_key(resource, f"{path}.ignoredResources[{index}]", problems)
        for index, group in enumerate(self.ignored_resource_groups):
            group_path = f"{path}.ignoredResourceGroups[{index}]"
            if "/" in group:
                problems.invalid(group_path, group, "resource group name can't contain '/'")
            _check_label_key(group, group_path, problems)
        self._check_strategy(f"{path}.scoringStrategy", problems, release)

    def _check_strategy(self, path: str, problems: Problems, release: Release) -> None:
        strategy = self.scoring_strategy
        if strategy.type not in SCORING_STRATEGIES:
            problems.unsupported(f"{path}.type", strategy.type, SCORING_STRATEGIES)
        for index, resource in enumerate(strategy.resources):
            if not 0 < resource.weight <= 100:
                detail = f"resource weight of {resource.name} not in valid range (0, 100]"
                problems.invalid(f"{path}.resources[{index}].weight", resource.weight, detail)
        ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
        is_used = strategy.type == REQUESTED_TO_CAPACITY_RATIO
        if ratio is None:
            if is_used:
                problems.required(ratio_path, "must be specified when type is RequestedToCapacityRatio")
        elif release.rules.rejects_unused_ratio and not is_used:
            problems.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
        else:
            _check_shape(ratio.shape, f"{ratio_path}.shape", problems)


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True, kw_only=True):
    """Resources whose utilization is balanced."""

    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY

    def completed(self) -> Self:
        return msgspec.structs.replace(self, resources=_completed_resources(self.resources))

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        seen: set[str] = set()
        for index, resource in enumerate(self.resources):
            if resource.name in seen:
                problems.duplicate(f"{path}.resources[{index}].name", resource.name)
            seen.add(resource.name)
            if resource.weight != 1:
                problems.invalid(f"{path}.resources[{index}].weight", resource.weight, "must be 1")


class PodTopologySpreadArgs(PluginArgs, frozen=True, kw_only=True):
    """Default constraints of pods without any: Kubernetes' own ("System"), or those given here ("List")."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING

    def completed(self) -> Self:
        return self if self.defaulting_type else msgspec.structs.replace(self, defaulting_type=SYSTEM_DEFAULTING)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        choices = (SYSTEM_DEFAULTING, LIST_DEFAULTING)
        if self.defaulting_type not in choices:
            problems.unsupported(f"{path}.defaultingType", self.defaulting_type, choices)
        elif self.defaulting_type == SYSTEM_DEFAULTING and self.default_constraints:
            problems.invalid(f"{path}.defaultingType", SYSTEM_DEFAULTING, "when .defaultConstraints are not empty")
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            constraint_path = f"{path}.defaultConstraints[{index}]"
            _check_constraint(constraint, constraint_path, problems)
            key = (constraint.topology_key, constraint.when_unsatisfiable)
            if key in seen:
                problems.duplicate(constraint_path, f"{{{key[0]}, {key[1]}}}")
            seen.add(key)


class VolumeBindingArgs(PluginArgs, frozen=True, kw_only=True):
    """Timeout of volume binding. The shape is for storage capacity scoring, whose feature gate is off."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.bind_timeout_seconds < 0:
            detail = "invalid BindTimeoutSeconds, should not be a negative value"
            problems.invalid(f"{path}.bindTimeoutSeconds", self.bind_timeout_seconds, detail)
        if self.shape is not None:
            detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            problems.invalid(f"{path}.shape", self.shape, detail)


class DynamicResourcesArgs(PluginArgs, frozen=True, kw_only=True):
    """Timeouts of the allocation on one node (zero: none) and of binding conditions."""

    filter_timeout: Duration = Duration.of_seconds(10)
    binding_timeout: Duration = Duration.of_seconds(600)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.filter_timeout < Duration():
            problems.invalid(f"{path}.filterTimeout", self.filter_timeout, "must be zero or positive")
        if self.binding_timeout < Duration.of_seconds(1):
            problems.invalid(f"{path}.bindingTimeout", self.binding_timeout, "must be at least 1 second")


IN_TREE_ARGS: dict[str, type[PluginArgs]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""Args type by plugin."""


def _completed_resources(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(r if r.weight else ResourceSpec(name=r.name) for r in resources) or _CPU_AND_MEMORY


def _check_range(value: int, low: int, high: int, path: str, problems: Problems) -> None:
    if not low <= value <= high:
        problems.invalid(path, value, f"not in valid range [{low}, {high}]")


def _check_label_key(key: str, path: str, problems: Problems) -> None:
    for error in label_key_errors(key):
        problems.invalid(path, key, error)


def _check_term(term: NodeSelectorTerm, path: str, problems: Problems) -> None:
    for error in term_errors(term, path):
        where, _, message = error.partition(": ")
        problems.add(where, message)


def _check_shape(shape: tuple[UtilizationShapePoint, ...], path: str, problems: Problems) -> None:
    if not shape:
        problems.required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            detail = "values must be sorted in increasing order"
            problems.invalid(f"{path}[{index}].utilization", shape[index].utilization, detail)
            break
    for index, point in enumerate(shape):
        _check_range(point.utilization, 0, 100, f"{path}[{index}].utilization", problems)
        _check_range(point.score, 0, _MAX_SHAPE_SCORE, f"{path}[{index}].score", problems)


def _check_constraint(constraint: TopologySpreadConstraint, path: str, problems: Problems) -> None:
    if constraint.max_skew <= 0:
        problems.invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        _check_label_key(constraint.topology_key, f"{path}.topologyKey", problems)
    else:
        problems.required(f"{path}.topologyKey", "can not be empty")
    if not constraint.when_unsatisfiable:
        problems.required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in (choices := ("DoNotSchedule", "ScheduleAnyway")):
        problems.unsupported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, choices)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        problems.forbidden(f"{path}.labelSelector", detail)
