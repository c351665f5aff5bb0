"""The optional plugins by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from stowplan.framework import Plugin

MODULES = {
    "CapacityScheduling": "capacity_scheduling",
    "Coscheduling": "coscheduling",
    "LoadVariationRiskBalancing": "trimaran.load_variation_risk_balancing",
    "LowRiskOverCommitment": "trimaran.low_risk_over_commitment",
    "FractionalGPU": "fractional_gpu",
    "NodeMetadata": "node_metadata",
    "NodeResourceTopologyMatch": "node_resource_topology_match",
    "NodeResourcesAllocatable": "node_resources_allocatable",
    "PodState": "pod_state",
    "PreemptionToleration": "preemption_toleration",
    "QOSSort": "qos_sort",
    "TargetLoadPacking": "trimaran.target_load_packing",
}
"""Module below this package for each plugin; the class has the plugin's name."""


def optional_classes(names: Iterable[str]) -> dict[str, type[Plugin]]:
    """The classes of those names that are optional plugins; only their modules are imported."""
    return {name: _load(name) for name in names if name in MODULES}


def _load(name: str) -> type[Plugin]:
    plugin: type[Plugin] = getattr(import_module(f"stowplan.optional_plugins.{MODULES[name]}"), name)
    return plugin
