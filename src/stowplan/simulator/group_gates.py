"""The feature gates of pod groups in a simulation: on where the input uses them.

An API server drops the fields of a gate that is off, so an input that has them comes from a cluster where it is on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.config.defaults import ALPHA_PLUGINS
from stowplan.config.feature_gates import (
    COSCHEDULING,
    COSCHEDULING_GATES,
    GANG_SCHEDULING,
    GENERIC_WORKLOAD,
    TOPOLOGY_AWARE,
    WORKLOAD_CLAIMS,
    WORKLOAD_PREEMPTION,
    check_dependencies,
)
from stowplan.config.releases import LATEST
from stowplan.config.types import KubeSchedulerConfiguration, Plugin, Profile


def with_group_gates(config: KubeSchedulerConfiguration, objects: Iterable[Any]) -> KubeSchedulerConfiguration:
    """The configuration with the gates that the PodGroups need, and the default plugins of these gates. Under the rules
    of an earlier release, which has another API, it stays as it is."""
    needed: set[str] = set()
    for item in objects:
        if isinstance(item, api.PodGroup):
            needed |= {GENERIC_WORKLOAD, GANG_SCHEDULING, *_gates_of(item.spec)}
        elif isinstance(item, api.CoschedulingPodGroup) and not _has_coscheduling(config):
            needed |= COSCHEDULING_GATES.keys()
    gates = {name: True for name in needed if not config.release.has(name)}
    if not gates or (config.release.version != LATEST.version and COSCHEDULING not in gates):
        return config
    release = config.release.with_gates(gates)
    check_dependencies(dict.fromkeys(release.enabled, True))
    names = [name for name, gate in ALPHA_PLUGINS.items() if gate in gates]
    profiles = tuple(_with_plugins(profile, names) for profile in config.profiles)
    return replace(config, profiles=profiles).for_release(release)


def _has_coscheduling(config: KubeSchedulerConfiguration) -> bool:
    """Whether a profile has the plugin Coscheduling, which handles its PodGroups itself."""
    plugins = [profile.plugins for profile in config.profiles]
    sets = [getattr(each, field) for each in plugins for field in each.__struct_fields__]
    return any(plugin.name == "Coscheduling" for each in sets for plugin in each.enabled)


def _gates_of(spec: api.PodGroupSpec) -> Iterable[str]:
    if spec.scheduling_constraints is not None:
        yield TOPOLOGY_AWARE
    if spec.priority is not None or spec.priority_class_name or spec.disruption_mode == "PodGroup":
        yield WORKLOAD_PREEMPTION
    if spec.resource_claims:
        yield WORKLOAD_CLAIMS


def _with_plugins(profile: Profile, names: Iterable[str]) -> Profile:
    points = profile.plugins.multi_point
    weights = {"PodGroupPodsCount": 1}
    added = tuple(Plugin(name=name, weight=weights.get(name, 0)) for name in names)
    return replace(
        profile, plugins=replace(profile.plugins, multi_point=replace(points, enabled=points.enabled + added))
    )
