"""Replicas of workloads under a HorizontalPodAutoscaler, whose metrics are not simulated."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.input.ownership import Objects, describe
from stowplan.simulator.workloads import CONTROLLERS
from stowplan.simulator.workloads.workload_controller import replicas_of

MIN, CURRENT, MAX = "min", "current", "max"
HPA_MODES = (MIN, CURRENT, MAX)
"""Replicas of an autoscaled workload: the least, its own within the bounds, or the most."""


class Scaled(NamedTuple):
    """Objects with the replicas that autoscalers give."""

    objects: Objects
    changed: frozenset[str]
    """The uids of workloads whose replicas changed."""
    notes: list[str]


def scale(objects: Objects, mode: str) -> Scaled:
    """Set the replicas of all autoscaled workloads. Zero replicas switch an autoscaler off, as in Kubernetes."""
    autoscalers = {
        (item.metadata.namespace, item.spec.scale_target_ref.kind, item.spec.scale_target_ref.name): item
        for item, _ in objects
        if isinstance(item, api.HorizontalPodAutoscaler)
    }
    if not autoscalers:
        return Scaled(objects, frozenset(), [])
    scaled: Objects = []
    changed: set[str] = set()
    notes: list[str] = []
    for item, origin in objects:
        controller = CONTROLLERS.get(type(item))
        if controller is not None and controller.has_replicas:
            key = item.metadata.namespace, kind_of(item).name, item.metadata.name
            autoscaler, given = autoscalers.pop(key, None), replicas_of(item)
            wanted = given if autoscaler is None else _replicas(autoscaler.spec, given, mode)
            if autoscaler is not None and wanted != given:
                item = replace(item, spec=replace(item.spec, replicas=wanted))
                changed.add(item.metadata.uid)
                notes.append(f"{describe(autoscaler)} gives {describe(item)} {wanted} replicas instead of {given}")
        scaled.append((item, origin))
    for (_, kind, name), autoscaler in autoscalers.items():
        notes.append(f"{describe(autoscaler)} scales {kind} {name}, which is not in the input")
    return Scaled(scaled, frozenset(changed), notes)


def _replicas(spec: api.HorizontalPodAutoscalerSpec, given: int, mode: str) -> int:
    least = 1 if spec.min_replicas is None else spec.min_replicas
    bounds = {MIN: least, MAX: spec.max_replicas, CURRENT: min(max(given, least), spec.max_replicas)}
    return bounds[mode] if given else 0
