"""Which plugins earlier releases enabled by default, and what does the work of those that are gone."""

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
    """Where the configuration names it; empty for a default."""


Lists: TypeAlias = dict[str, tuple[OldPlugin, ...]]
"""The plugins of each point, in order."""


class Successor(NamedTuple):
    """What does the work of a plugin today."""

    name: str
    """Empty for nothing."""
    note: str
    """What differs; empty where nothing does."""
    strategy: str = ""
    """The scoringStrategy of NodeResourcesFit that scores in the same way."""


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
"""The same for plugins that score."""

VOLUME_LIMITS = frozenset(name for name, successor in SUCCESSORS.items() if successor is _LIMITS)
SELECTOR_SPREAD = frozenset(name for name, successor in SUCCESSORS.items() if successor is _SPREAD)

YOUNGER = frozenset({"DynamicResources", "NodeDeclaredFeatures", "SchedulingGates"})
"""Default plugins about which no earlier configuration says anything. They stay: they matter only to pods and nodes
that ask for what they do."""

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
"""Where the default plugins of today run that had their part in earlier releases too."""

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
"""Of the releases of v1alpha1 and v1alpha2, which knew preemption as a part of the scheduler itself."""
V1BETA1_DEFAULTS = MappingProxyType(_lists(("VolumeBinding", "NodeAffinity"), ("NodeAffinity",), _LEAST_AND_AVOID))
V1BETA2_DEFAULTS = MappingProxyType(
    _lists(
        ("VolumeBinding", "NodeAffinity", "VolumeRestrictions", "VolumeZone"),
        ("NodeAffinity",),
        {"NodeResourcesFit": 1},
    )
)


def successor(name: str, point: str) -> Successor | None:
    """What does the work of a plugin at a point today, None if it does so itself."""
    return (SCORE_SUCCESSORS if point == SCORE else SUCCESSORS).get(name)


def name_today(name: str, point: str) -> str:
    """The plugin that does the work today; empty for none."""
    found = successor(name, point)
    return name if found is None else found.name
