"""Args of plugins: `pluginConfig` entries of kind `<Plugin>Args`.

Belongs here: the args of every plugin that Stowplan has, with defaults and checks, and the table of them. A name in
`OPTIONAL_ARGS` is a plugin that a configuration may enable and that is off by default; its class is registered in
`stowplan.optional_plugins`. May import: the other modules of `config`, `framework`, `api` and below.

Upstream: pkg/scheduler/apis/config/v1/conversion.go (convertToInternalPluginConfigArgs)
"""

from stowplan.config.args.fractional_gpu import FractionalGPUArgs, TargetPodArgs
from stowplan.config.args.in_tree import (
    IN_TREE_ARGS,
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SCORING_STRATEGIES,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from stowplan.config.args.optional import OPTIONAL_ARGS

ARGS: dict[str, type[PluginArgs]] = dict(sorted((IN_TREE_ARGS | OPTIONAL_ARGS).items()))
"""Args type by plugin, sorted: default args are appended to a profile in this order."""

__all__ = [
    "ARGS",
    "IN_TREE_ARGS",
    "LEAST_ALLOCATED",
    "LIST_DEFAULTING",
    "MOST_ALLOCATED",
    "OPTIONAL_ARGS",
    "REQUESTED_TO_CAPACITY_RATIO",
    "SCORING_STRATEGIES",
    "SYSTEM_DEFAULTING",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "FractionalGPUArgs",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PluginArgs",
    "PodTopologySpreadArgs",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "ScoringStrategy",
    "TargetPodArgs",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
]
