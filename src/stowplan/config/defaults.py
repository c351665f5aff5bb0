"""Defaults of the configuration: plugins with weights, plugin args, and empty values.

Upstream: pkg/scheduler/apis/config/v1/defaults.go, pkg/scheduler/apis/config/v1/default_plugins.go
"""

from functools import cache
from typing import TypeVar

import msgspec

from stowplan.config.args import ARGS, OPTIONAL_ARGS, NodeResourcesFitArgs, PluginArgs
from stowplan.config.releases import LATEST, Release
from stowplan.config.types import (
    PLUGINS_ATTRIBUTES,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    Profile,
)

DEFAULT_SCHEDULER_NAME = "default-scheduler"

DEFAULT_WEIGHTS = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    # Before DefaultPreemption: deallocating an idle claim is better than evicting a pod.
    "DynamicResources": 2,
    "DefaultPreemption": 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
    "NodeDeclaredFeatures": 0,
}
"""Default plugins with weights, in the order of `multiPoint`, which decides the plugin whose reason a node gets."""

PLUGIN_GATES = {"DynamicResources": "DynamicResourceAllocation", "NodeDeclaredFeatures": "NodeDeclaredFeatures"}
"""Feature gates of default plugins. While its gate is off, a plugin is not enabled by default and does nothing."""

_ALPHA_WEIGHTS = {"PodGroupPodsCount": 1}
"""Default weights of plugins in `ALPHA_PLUGINS`."""


@cache
def default_plugins(release: Release = LATEST) -> Plugins:
    """The default plugins of a release."""
    weights = {**DEFAULT_WEIGHTS, **release.weights}
    gated = {name for name, gate in PLUGIN_GATES.items() if not release.has(gate)}
    names = [name for name in DEFAULT_WEIGHTS if name not in gated]
    names += [name for name, gate in ALPHA_PLUGINS.items() if release.has(gate)]
    enabled = tuple(Plugin(name=name, weight=weights.get(name) or _ALPHA_WEIGHTS.get(name, 0)) for name in names)
    return Plugins(multi_point=PluginSet(enabled=enabled))


IN_TREE_PLUGINS = frozenset((*DEFAULT_WEIGHTS, *OPTIONAL_ARGS))
"""Names that a configuration may enable without registration: the default plugins and the optional ones."""

ALPHA_PLUGINS = {
    "GangScheduling": "GangScheduling",
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
}
"""In-tree plugins that are disabled by default, with the feature gate that enables them; they come after the others."""

REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})

_ALL = "*"
_LEADER_ELECTION_FIELDS = (
    "lease_duration",
    "renew_deadline",
    "retry_period",
    "resource_lock",
    "resource_name",
    "resource_namespace",
)
_CLIENT_CONNECTION_FIELDS = ("content_type", "qps", "burst")

S = TypeVar("S", bound=msgspec.Struct)


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Defaults without the disabled ones, then custom plugins; a default that is enabled again keeps its position and
    takes the given weight."""
    disabled = tuple(Plugin(name=plugin.name) for plugin in (*custom.disabled, *default.disabled))
    names = {plugin.name for plugin in disabled}
    # Of a repeated name the last entry replaces the default; the others are appended.
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    kept = [] if _ALL in names else [plugin for plugin in default.enabled if plugin.name not in names]
    replaced = {last[plugin.name] for plugin in kept if plugin.name in last}
    merged = [custom.enabled[last[plugin.name]] if plugin.name in last else plugin for plugin in kept]
    merged += [plugin for index, plugin in enumerate(custom.enabled) if index not in replaced]
    return PluginSet(enabled=tuple(merged), disabled=disabled)


def merge_plugins(custom: Plugins, release: Release = LATEST) -> Plugins:
    """Default plugins merged with a profile's. Idempotent."""
    defaults = default_plugins(release)
    if custom == Plugins():
        return defaults
    attributes = PLUGINS_ATTRIBUTES.values()
    return Plugins(**{a: merge_plugin_set(getattr(defaults, a), getattr(custom, a)) for a in attributes})


def complete(config: KubeSchedulerConfiguration, release: Release = LATEST) -> KubeSchedulerConfiguration:
    """Apply all defaults of a release."""
    profiles = config.profiles or (Profile(),)
    if len(profiles) == 1 and not profiles[0].scheduler_name:
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = config.enable_contention_profiling
    return msgspec.structs.replace(
        config.for_release(release),
        profiles=tuple(_complete_profile(profile, release) for profile in profiles),
        leader_election=_without_zeroes(config.leader_election, LeaderElection(), _LEADER_ELECTION_FIELDS),
        client_connection=_without_zeroes(config.client_connection, ClientConnection(), _CLIENT_CONNECTION_FIELDS),
        extenders=tuple(_without_zeroes(extender, Extender(), ("http_timeout",)) for extender in config.extenders),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
    )


def ignore_managed_resources(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Set NodeResourcesFit's ignored resources to the extenders' managed resources with `ignoredByScheduler`.

    As in kube-scheduler, they replace the profile's own `ignoredResources`.
    """
    managed = [resource for extender in config.extenders for resource in extender.managed_resources]
    ignored = tuple(resource.name for resource in managed if resource.ignored_by_scheduler)
    if not ignored:
        return config
    profiles = tuple(_ignoring(profile, ignored) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles)


def _ignoring(profile: Profile, resources: tuple[str, ...]) -> Profile:
    configs = tuple(
        msgspec.structs.replace(item, args=msgspec.structs.replace(item.args, ignored_resources=resources))
        if isinstance(item.args, NodeResourcesFitArgs)
        else item
        for item in profile.plugin_config
    )
    return msgspec.structs.replace(profile, plugin_config=configs)


@cache
def default_configuration(release: Release = LATEST) -> KubeSchedulerConfiguration:
    """The configuration of a scheduler without a file."""
    return complete(KubeSchedulerConfiguration(), release)


def _without_zeroes(struct: S, default: S, fields: tuple[str, ...]) -> S:
    """With the default in fields that are zero or empty."""
    zeroes = {field: getattr(default, field) for field in fields if not getattr(struct, field)}
    return msgspec.structs.replace(struct, **zeroes) if zeroes else struct


def _complete_profile(profile: Profile, release: Release) -> Profile:
    plugins = merge_plugins(profile.plugins, release)
    configs = [
        msgspec.structs.replace(config, args=config.args.completed()) if isinstance(config.args, PluginArgs) else config
        for config in profile.plugin_config
    ]
    enabled = {
        plugin.name for attribute in PLUGINS_ATTRIBUTES.values() for plugin in getattr(plugins, attribute).enabled
    }
    missing = enabled.intersection(ARGS).difference(config.name for config in configs)
    configs += [PluginConfig(name=name, args=ARGS[name]().completed()) for name in ARGS if name in missing]
    return msgspec.structs.replace(profile, plugins=plugins, plugin_config=tuple(configs))
