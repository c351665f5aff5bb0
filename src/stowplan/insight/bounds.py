"""Lower bounds of the effort to make each node feasible, for all nodes at once.

They order nodes before the expensive exact checks; a bound that is too low costs a check, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stowplan.insight.lasting import TAINTS
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.sentences.structural import meeting, near_keys
from stowplan.plugins.node_affinity import NodeDemand, demands_of

SELECTOR = "NodeAffinity"
Efforts = NDArray[np.float64]

IMPOSSIBLE_EFFORT = 50.0
"""For rules that no change is proposed for: the location of volumes, the name of the node, features of the kubelet."""

_EFFORTS = {
    "NodeUnschedulable": 2.0,
    "PodTopologySpread": 4.0,
    "InterPodAffinity": 6.0,
    "NodePorts": 4.0,
    "VolumeRestrictions": 6.0,
    "NodeVolumeLimits": 6.0,
    "NodeName": IMPOSSIBLE_EFFORT,
    "NodeDeclaredFeatures": IMPOSSIBLE_EFFORT,
    "VolumeZone": IMPOSSIBLE_EFFORT,
    "VolumeBinding": IMPOSSIBLE_EFFORT,
}
_UNMET_REQUIREMENT, _NEAR_SPELLING = 3.0, 0.1
_UNKNOWN_PLUGIN_EFFORT = 4.0
_ABOVE_ALLOCATABLE_EFFORT = 9.0
_TOO_MANY_PODS_EFFORT = 6.0


def effort_bounds(matrix: FilterMatrix) -> Efforts:
    """By slot: the least effort that could make the node feasible."""
    total = np.zeros(matrix.high)
    for plugin, nodes in matrix.by_plugin().items():
        total += np.where(nodes, bound_of(matrix, plugin), 0.0)
    return total


def bound_of(matrix: FilterMatrix, plugin: str) -> Efforts | float:
    """By slot: the least effort that could end the plugin's rejections."""
    found = matrix.bounds.get(plugin)
    if found is None:
        found = matrix.bounds[plugin] = _bound_of(matrix, plugin)
    return found


def _bound_of(matrix: FilterMatrix, plugin: str) -> Efforts | float:
    if plugin == "NodeResourcesFit":
        return _shortages(matrix)
    if plugin == TAINTS:
        return _taints(matrix)
    if plugin == SELECTOR:
        return _unmet_requirements(matrix)
    return _EFFORTS.get(plugin, _UNKNOWN_PLUGIN_EFFORT)


def _shortages(matrix: FilterMatrix) -> Efforts:
    table, high = matrix.table, matrix.high
    found = np.where(table.pod_count.array[:high] >= table.allowed_pods.array[:high], _TOO_MANY_PODS_EFFORT, 0.0)
    for resource, amount in matrix.pod.template.requests.items():
        if amount:
            allocatable, requested = table.resource(resource)
            free = allocatable.array[:high] - requested.array[:high]
            effort = np.where(allocatable.array[:high] < amount, _ABOVE_ALLOCATABLE_EFFORT, 1.0)
            found += np.where(free < amount, effort + 20 * (amount - free) / amount, 0.0)
    return found


def _unmet_requirements(matrix: FilterMatrix) -> Efforts:
    """By slot: for the requirements of the nodeSelector, and of the closest term, that the node does not meet."""
    demands = demands_of(matrix.pod.spec)
    terms = [_unmet(matrix, each.demands) for each in demands.alternatives or () if each.demands and not each.errors]
    own = _unmet(matrix, demands.selector)
    found = own + np.minimum.reduce(terms) if terms else own
    return np.where(found > 0, found, _UNMET_REQUIREMENT)


def _unmet(matrix: FilterMatrix, demands: Iterable[NodeDemand]) -> Efforts:
    found = np.zeros(matrix.high)
    for demand in demands:
        found += _UNMET_REQUIREMENT * ~meeting(matrix, demand)
        for key in near_keys(matrix, demand.requirement.key):
            wanted = set(demand.requirement.values)
            slots = [slot for slot, value in enumerate(matrix.label_values(key)) if value in wanted]
            found[slots] -= _NEAR_SPELLING
    return found


def _taints(matrix: FilterMatrix) -> Efforts:
    table, high = matrix.table, matrix.high
    counts = np.zeros(len(table.taint_sets))
    for number in np.unique(table.taint_set[:high]).tolist():
        slots = np.flatnonzero((table.taint_set[:high] == number) & matrix.alive)
        info = table.infos[int(slots[0])] if len(slots) else None
        if info is not None:
            counts[number] = 2.0 * len(matrix.explain(TAINTS, info)) if matrix.plugin(TAINTS) else 0.0
    return counts[table.taint_set[:high]]
