"""All in-tree plugins by name, as the latest release and as earlier releases have them.

Upstream: pkg/scheduler/framework/plugins/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stowplan.config.defaults import PLUGIN_GATES
from stowplan.config.feature_gates import GENERIC_WORKLOAD
from stowplan.config.releases import Release
from stowplan.framework import Plugin
from stowplan.framework.points import POINT_BY_NAME, RUN_POINTS, implements_point
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.plugins.default_preemption import DefaultPreemption
from stowplan.plugins.dynamic_resources import DynamicResources
from stowplan.plugins.gang_scheduling import GangScheduling
from stowplan.plugins.image_locality import ImageLocality
from stowplan.plugins.inter_pod_affinity import InterPodAffinity
from stowplan.plugins.node_affinity import NodeAffinity
from stowplan.plugins.node_declared_features import NodeDeclaredFeatures
from stowplan.plugins.node_name import NodeName
from stowplan.plugins.node_ports import NodePorts
from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.node_resources_fit import NodeResourcesFit
from stowplan.plugins.node_unschedulable import NodeUnschedulable
from stowplan.plugins.node_volume_limits import NodeVolumeLimits
from stowplan.plugins.pod_group_pods_count import PodGroupPodsCount
from stowplan.plugins.pod_topology_spread import PodTopologySpread
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.plugins.scheduling_gates import SchedulingGates
from stowplan.plugins.taint_toleration import TaintToleration
from stowplan.plugins.topology_placement_generator import TopologyPlacementGenerator
from stowplan.plugins.volume_binding import VolumeBinding
from stowplan.plugins.volume_restrictions import VolumeRestrictions
from stowplan.plugins.volume_zone import VolumeZone

REGISTRY: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
    )
}

GATED_PLUGINS: dict[str, type[Plugin]] = {
    plugin.name: plugin for plugin in (GangScheduling, TopologyPlacementGenerator, PodGroupPodsCount)
}
"""In-tree plugins for pod groups, which a configuration may name where the feature gate GenericWorkload is on."""

_IDLE_POINTS = {"GangScheduling": ("preEnqueue", "reserve", "permit")}
"""Points of the plugins that are known to a release and do nothing there."""

Factories = Mapping[str, Callable[..., Any]]


def for_release(registry: Factories, release: Release) -> dict[str, Callable[..., Any]]:
    """The registry with the in-tree plugins as the release has them."""
    made = {name: factory for name, factory in registry.items() if name not in release.later_plugins}
    for name in release.later_score_plugins.intersection(made):
        if made[name] is REGISTRY.get(name):
            made[name] = _without_score(REGISTRY[name])
    for name, gate in PLUGIN_GATES.items():
        if made.get(name) is not None and not release.has(gate):
            points = [point.name for point in RUN_POINTS if implements_point(REGISTRY[name], point)]
            made[name] = _idle(name, points)
    if release.has(GENERIC_WORKLOAD):
        return {**GATED_PLUGINS, **made}
    return made | {name: _idle(name, _IDLE_POINTS[name]) for name in release.idle_plugins}


def _without_score(plugin: type[Plugin]) -> type[Plugin]:
    """The plugin without the extension point Score."""
    methods = POINT_BY_NAME["score"].methods
    return type(plugin.__name__, (plugin,), {method: getattr(Plugin, method) for method in methods})


def _idle(name: str, points: Iterable[str]) -> type[Plugin]:
    """A plugin that implements the points and does nothing."""
    methods = {method: _nothing for point in points for method in POINT_BY_NAME[point].methods}
    return type(name, (InTreePlugin,), {"name": name, "concerns": lambda self, template: False, **methods})


def _nothing(*args: object) -> None:
    return None
