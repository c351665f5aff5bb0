"""Plugins that replaced predicates and priorities.

Upstream: pkg/scheduler/framework/plugins/legacy_registry.go (v1.22)
"""

from stowplan.config.conversion.plugin_tables import V1BETA1_DEFAULTS, OldPlugin
from stowplan.framework.points import FILTER, PRE_BIND, PRE_FILTER, PRE_SCORE, RESERVE, SCORE

PREDICATES: dict[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeLabelPresence": ("NodeLabel",),
    "CheckServiceAffinity": ("ServiceAffinity",),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxCSIVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "PodToleratesNodeNoExecuteTaints": ("TaintToleration",),
    "CheckNodeCondition": ("TaintToleration", "NodeUnschedulable"),
    "CheckNodeMemoryPressure": ("TaintToleration",),
    "CheckNodeDiskPressure": ("TaintToleration",),
    "CheckNodePIDPressure": ("TaintToleration",),
    "NoVolumeNodeConflict": ("VolumeBinding",),
}

CHANGED_PREDICATES = {
    "PodToleratesNodeNoExecuteTaints": "TaintToleration looks at NoSchedule taints besides NoExecute ones",
    "CheckNodeCondition": "nodes that are not ready bear taints now, which TaintToleration reads",
    "CheckNodeMemoryPressure": "nodes under memory pressure bear a taint now, which TaintToleration reads",
    "CheckNodeDiskPressure": "nodes under disk pressure bear a taint now, which TaintToleration reads",
    "CheckNodePIDPressure": "nodes short of process ids bear a taint now, which TaintToleration reads",
    "NoVolumeNodeConflict": "VolumeBinding does this now, and binds volumes too",
}
"""Predicates whose plugin differs."""

MANDATORY = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")

PRIORITIES: dict[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EqualPriority": "",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "NodeAffinityPriority": "NodeAffinity",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
    "ResourceLimitsPriority": "NodeResourceLimits",
    "SelectorSpreadPriority": "SelectorSpread",
    "ServiceSpreadingPriority": "SelectorSpread",
    "TaintTolerationPriority": "TaintToleration",
}
"""None for a priority without effect."""

ARGUMENTS = {
    "serviceAffinity": "ServiceAffinity",
    "labelsPresence": "NodeLabel",
    "serviceAntiAffinity": "ServiceAffinity",
    "labelPreference": "NodeLabel",
    "requestedToCapacityRatioArguments": "RequestedToCapacityRatio",
}
"""The plugin of a custom argument, whatever the name of the predicate or priority."""

DEFAULT_SCORES = (*V1BETA1_DEFAULTS[SCORE], OldPlugin("SelectorSpread", 1))

_PHASES = {FILTER: (PRE_FILTER, FILTER, RESERVE, PRE_BIND), SCORE: (PRE_SCORE, SCORE)}


def points_of(plugin: str, phase: str) -> list[str]:
    """The points of a plugin for filtering or for scoring."""
    listed = [point for point in _PHASES[phase] if plugin in {entry.name for entry in V1BETA1_DEFAULTS[point]}]
    return listed if phase in listed else [*listed, phase]
