"""Building profiles from a configuration.

Upstream: pkg/scheduler/profile/profile.go (NewMap), pkg/scheduler/framework/runtime/framework.go (NewFramework)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeGuard

import msgspec

from stowplan.cache import Cluster
from stowplan.config.expansion import expand_profiles
from stowplan.config.types import KubeSchedulerConfiguration, Plugins, PluginSet
from stowplan.config.types import Plugin as ConfiguredPlugin
from stowplan.errors import PluginBugError, StowplanError
from stowplan.framework import Handle, Plugin
from stowplan.framework.extender import Extender
from stowplan.framework.plugin_checks import check_constructor, check_forms, check_plugin, check_plugin_class
from stowplan.framework.points import PLACEMENT_SCORE, POINTS, QUEUE_SORT, SCORE, implements_point
from stowplan.framework.safe_text import raised, shown
from stowplan.optional_plugins.registry import optional_classes
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.base.plugin import FORMS
from stowplan.plugins.registry import for_release
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.sampling import Rotation, Sampler
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin, serve_plugins
from stowplan.runtime.profile.handle import ProfileHandle
from stowplan.runtime.profile.plugin_args import decode_args, in_tree_args
from stowplan.runtime.profile.profile import Profile

Factory = Callable[[Any, Handle], Plugin]
Registry = Mapping[str, Factory]

_DEFAULT_QUEUE_SORT = "PrioritySort"


def build_profiles(
    config: KubeSchedulerConfiguration,
    registry: Registry,
    cluster: Cluster,
    nominator: Nominator,
    rng: random.Random,
    extenders: tuple[Extender, ...] = (),
    make_handle: Callable[[str], Handle] | None = None,
) -> dict[str, Profile]:
    """Profiles by schedulerName; a configuration that kube-scheduler rejects raises ConfigError.

    With extenders, fewer nodes are filtered by default: every feasible node is sent to them. `make_handle` makes the
    Handle of a profile's plugins from its schedulerName; without it, no services of a running scheduler are available.
    """
    registry = for_release(registry, config.release)
    mentioned = [name for profile in config.profiles for name in _mentioned(profile.plugins)]
    registry = {**optional_classes(mentioned), **registry}
    instances: dict[str, dict[str, Plugin]] = {}
    for configured in config.profiles:
        name = configured.scheduler_name
        handle = ProfileHandle(name, cluster, nominator) if make_handle is None else make_handle(name)
        names = [name for name in _mentioned(configured.plugins) if name in registry]
        instances[configured.scheduler_name] = {
            name: instantiate(registry[name], name, configured.args(name), handle) for name in names
        }
        serve_plugins(cluster, instances[configured.scheduler_name].values())

    def implements(name: str, point: str) -> bool:
        return any(name in plugins and implements_point(type(plugins[name]), point) for plugins in instances.values())

    expanded = expand_profiles(config, implements, registry)
    rotation = Rotation(cluster.nodes)
    profiles = {}
    for configured in config.profiles:
        name = configured.scheduler_name
        percentage = configured.percentage_of_nodes_to_score
        if percentage is None:
            percentage = config.percentage_of_nodes_to_score
        samples = bool(percentage or extenders) and percentage < 100
        sampler = Sampler(percentage, rotation) if samples else None
        profiles[name] = _profile(name, expanded[name], instances[name], cluster, nominator, rng, sampler)
        profiles[name].extenders = extenders
    return profiles


def _profile(
    name: str,
    expanded: Mapping[str, Collection[Any]],
    instances: Mapping[str, Plugin],
    cluster: Cluster,
    nominator: Nominator,
    rng: random.Random,
    sampler: Sampler | None,
) -> Profile:
    built: list[Profile] = []

    def on_uncacheable() -> None:
        for profile in built:
            profile.forget_plans()

    wrapped = {
        key: plugin if isinstance(plugin, InTreePlugin) else OutOfTreePlugin(plugin, on_uncacheable)
        for key, plugin in instances.items()
    }
    points = {point.name: tuple(wrapped[e.name] for e in expanded[point.name]) for point in POINTS}
    weights = {
        point: {enabled.name: enabled.weight for enabled in expanded[point]} for point in (SCORE, PLACEMENT_SCORE)
    }
    built.append(Profile(name, cluster, nominator, points, weights[SCORE], rng, sampler))
    built[0].placement_weights = weights[PLACEMENT_SCORE]
    built[0].plugin_names = frozenset(instances)
    return built[0]


def enable_everywhere(config: KubeSchedulerConfiguration, added: Mapping[str, Factory]) -> KubeSchedulerConfiguration:
    """Enables plugins that the configuration does not mention, at every point that they implement, in all profiles. A
    plugin that sorts the queue takes the place of the default one."""
    profiles = []
    for profile in config.profiles:
        mentioned = _mentioned(profile.plugins)
        new = tuple(ConfiguredPlugin(name=name) for name in added if name not in mentioned)
        multi_point, queue_sort = profile.plugins.multi_point, profile.plugins.queue_sort
        multi_point = msgspec.structs.replace(multi_point, enabled=(*multi_point.enabled, *new))
        if queue_sort == PluginSet() and any(_sorts(added[plugin.name]) for plugin in new):
            queue_sort = PluginSet(disabled=(ConfiguredPlugin(name=_DEFAULT_QUEUE_SORT),))
        plugins = msgspec.structs.replace(profile.plugins, multi_point=multi_point, queue_sort=queue_sort)
        profiles.append(msgspec.structs.replace(profile, plugins=plugins))
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def _sorts(factory: Factory) -> bool:
    return isinstance(factory, type) and implements_point(factory, QUEUE_SORT)


def _mentioned(plugins: Plugins) -> dict[str, None]:
    """Every enabled plugin, in the order of first mention."""
    sets = [getattr(plugins, field) for field in plugins.__struct_fields__]
    return dict.fromkeys(plugin.name for plugin_set in sets for plugin in plugin_set.enabled)


def instantiate(factory: Factory, name: str, args: Any, handle: Handle) -> Plugin:
    """Calls a plugin's factory. Exceptions, and mistakes in the plugin's class, become a PluginBugError of one line."""
    if _is_in_tree(factory):
        check_forms(factory, InTreePlugin, FORMS)
        in_tree: Plugin = _made(factory, name, with_in_tree_args(factory, args), handle)
        return in_tree
    if isinstance(factory, type) and issubclass(factory, Plugin):
        check_plugin_class(factory)
        check_constructor(factory)
    plugin = _made(factory, name, decode_args(getattr(factory, "Args", None), name, args), handle)
    if not isinstance(plugin, Plugin):
        text = f'initializing plugin "{name}": the factory returned {shown(plugin)}, which is not a Plugin'
        raise PluginBugError(text)
    if not isinstance(plugin, InTreePlugin):
        check_plugin_class(type(plugin))
        check_plugin(plugin)
    if not plugin.name:
        plugin.name = name  # type: ignore[misc]
    return plugin


def with_in_tree_args(factory: Factory, args: Any) -> Any:
    """The args for a factory; those of the class of an in-tree or optional plugin are decoded and validated."""
    return in_tree_args(getattr(factory, "name", ""), args) if _is_in_tree(factory) else args


def _is_in_tree(factory: Factory) -> TypeGuard[type[InTreePlugin]]:
    return isinstance(factory, type) and issubclass(factory, InTreePlugin)


def _made(factory: Callable[..., Any], name: str, args: Any, handle: Handle) -> Any:
    try:
        return factory(args, handle)
    except StowplanError:
        raise
    except Exception as problem:
        text = " ".join(raised(problem).removeprefix("raised ").split())
        raise PluginBugError(f'initializing plugin "{name}": {text}') from problem
