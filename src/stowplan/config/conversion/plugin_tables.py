"""Default plugins of earlier releases, and successors of removed plugins.

Upstream: pkg/scheduler/apis/config/v1beta2/default_plugins.go,
pkg/scheduler/algorithmprovider/registry.go of earlier releases
"""

from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from stowplan.config.args import LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO
from stowplan.framework.points import (
    BIND,
    FILTER,
    POST_FILTER,
    PRE_BIND,
    PRE_FILTER,
    PRE_SCORE,
    QUEUE_SORT,
    RESERVE,
    SCORE,
)


class OldPlugin(NamedTuple):
    """A plugin at a point."""

    name: str
    weight: int = 0
    path: str = ""
    """Path in the configuration; empty for a default."""


Lists: TypeAlias = dict[str, tuple[OldPlugin, ...]]
"""The plugins of each point, in order."""


class Successor(NamedTuple):
    """The successor of a removed plugin."""

    name: str
    """Empty without a successor."""
    note: str
    """The difference, if any."""
    strategy: str = ""
    """The equivalent scoringStrategy of NodeResourcesFit."""


_LIMITS = Successor("NodeVolumeLimits", "NodeVolumeLimits counts these volumes now, along with all others")
_SPREAD = Successor(
    "PodTopologySpread", "PodTopologySpread with defaultingType System spreads the pods of a service now"
)

SUCCESSORS: dict[str, Successor] = {
    "AzureDiskLimits": _LIMITS,
    "CinderLimits": _LIMITS,
    "EBSLimits": _LIMITS,
    "GCEPDLimits": _LIMITS,
    "DefaultPodTopologySpread": _SPREAD,
    "SelectorSpread": _SPREAD,
    "NodeLabel": Successor(
        "NodeAffinity", "NodeAffinity with addedAffinity does this now: preferred labels are weighed with pods' own"
    ),
    "NodePreferAvoidPods": Successor(
        "", "the annotation preferAvoidPods of nodes is not read any more: taint such nodes PreferNoSchedule"
    ),
    "NodeResourceLimits": Successor("", "nothing scores by limits any more"),
    "NodeResourcesLeastAllocated": Successor("NodeResourcesFit", "", LEAST_ALLOCATED),
    "NodeResourcesMostAllocated": Successor("NodeResourcesFit", "", MOST_ALLOCATED),
    "RequestedToCapacityRatio": Successor("NodeResourcesFit", "", REQUESTED_TO_CAPACITY_RATIO),
    "ServiceAffinity": Successor(
        "", "nothing keeps the pods of a service on like nodes any more: use pod affinity, or a plugin of your own"
    ),
}

SCORE_SUCCESSORS: dict[str, Successor] = {
    **SUCCESSORS,
    "ServiceAffinity": Successor(
        "PodTopologySpread",
        "PodTopologySpread spreads over the values of these labels now, which comes near it: it also counts pods that "
        "share a controller, and heeds the constraints of pods themselves",
    ),
}
"""The same for Score plugins."""

VOLUME_LIMITS = frozenset(name for name, successor in SUCCESSORS.items() if successor is _LIMITS)
SELECTOR_SPREAD = frozenset(name for name, successor in SUCCESSORS.items() if successor is _SPREAD)

LATER_DEFAULT_PLUGINS = frozenset({"DynamicResources", "NodeDeclaredFeatures", "SchedulingGates"})
"""Default plugins that no earlier version has. They are kept, since they affect only pods that use their feature."""

POINTS_OF: dict[str, tuple[str, ...]] = {
    "PrioritySort": (QUEUE_SORT,),
    "NodeUnschedulable": (FILTER,),
    "NodeName": (FILTER,),
    "TaintToleration": (FILTER, PRE_SCORE, SCORE),
    "NodeAffinity": (PRE_FILTER, FILTER, PRE_SCORE, SCORE),
    "NodePorts": (PRE_FILTER, FILTER),
    "NodeResourcesFit": (PRE_FILTER, FILTER, PRE_SCORE, SCORE),
    "VolumeRestrictions": (PRE_FILTER, FILTER),
    "NodeVolumeLimits": (PRE_FILTER, FILTER),
    "VolumeBinding": (PRE_FILTER, FILTER, PRE_SCORE, SCORE, RESERVE, PRE_BIND),
    "VolumeZone": (PRE_FILTER, FILTER),
    "PodTopologySpread": (PRE_FILTER, FILTER, PRE_SCORE, SCORE),
    "InterPodAffinity": (PRE_FILTER, FILTER, PRE_SCORE, SCORE),
    "DefaultPreemption": ("preEnqueue", POST_FILTER),
    "NodeResourcesBalancedAllocation": (PRE_SCORE, SCORE),
    "ImageLocality": (SCORE,),
    "DefaultBinder": (BIND,),
}
"""Points of today's default plugins that earlier releases had too."""

_PRE_FILTERS = ("NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity")
_PRE_SCORES = ("InterPodAffinity", "PodTopologySpread", "TaintToleration")
_FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "EBSLimits",
    "GCEPDLimits",
    "NodeVolumeLimits",
    "AzureDiskLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
_SCORES = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeAffinity": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}


def _lists(pre_filters: tuple[str, ...], pre_scores: tuple[str, ...], scores: dict[str, int]) -> Lists:
    names = {
        QUEUE_SORT: ("PrioritySort",),
        PRE_FILTER: (*_PRE_FILTERS, *pre_filters),
        FILTER: _FILTERS,
        POST_FILTER: ("DefaultPreemption",),
        PRE_SCORE: (*_PRE_SCORES, *pre_scores),
        RESERVE: ("VolumeBinding",),
        PRE_BIND: ("VolumeBinding",),
        BIND: ("DefaultBinder",),
    }
    lists = {point: tuple(map(OldPlugin, plugins)) for point, plugins in names.items()}
    return {**lists, SCORE: tuple(OldPlugin(name, weight) for name, weight in {**_SCORES, **scores}.items())}


_LEAST_AND_AVOID = {"NodeResourcesLeastAllocated": 1, "NodePreferAvoidPods": 10000}

ALPHA_DEFAULTS = MappingProxyType(
    _lists(
        (),
        ("DefaultPodTopologySpread",),
        {**_LEAST_AND_AVOID, "PodTopologySpread": 1, "DefaultPodTopologySpread": 1},
    )
)
"""Defaults of v1alpha1 and v1alpha2, in which preemption was built in."""
V1BETA1_DEFAULTS = MappingProxyType(_lists(("VolumeBinding", "NodeAffinity"), ("NodeAffinity",), _LEAST_AND_AVOID))
V1BETA2_DEFAULTS = MappingProxyType(
    _lists(
        ("VolumeBinding", "NodeAffinity", "VolumeRestrictions", "VolumeZone"),
        ("NodeAffinity",),
        {"NodeResourcesFit": 1},
    )
)


def successor(name: str, point: str) -> Successor | None:
    """The successor of a plugin at a point; None if the plugin still exists."""
    return (SCORE_SUCCESSORS if point == SCORE else SUCCESSORS).get(name)


def name_today(name: str, point: str) -> str:
    """Today's plugin; empty without a successor."""
    found = successor(name, point)
    return name if found is None else found.name
