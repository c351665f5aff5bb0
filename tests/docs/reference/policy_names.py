"""Predicates and priorities of Policy files, and the plugins that replace them."""

from tests.docs.reference.tables import code, table

from stowplan.config.conversion.policy_tables import MANDATORY, PREDICATES, PRIORITIES
from stowplan.config.defaults import DEFAULT_WEIGHTS

_REMOVED = {
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
    "NodeLabel": "NodeAffinity, by `addedAffinity` in its args",
    "NodePreferAvoidPods": "none; taint such nodes `PreferNoSchedule`",
    "NodeResourceLimits": "none",
    "NodeResourcesLeastAllocated": "NodeResourcesFit, strategy `LeastAllocated`",
    "NodeResourcesMostAllocated": "NodeResourcesFit, strategy `MostAllocated`",
    "RequestedToCapacityRatio": "NodeResourcesFit, strategy `RequestedToCapacityRatio`",
    "SelectorSpread": "PodTopologySpread, by its default constraints",
    "ServiceAffinity": "none; use pod affinity, or your own plugin",
    "": "none; it had no effect",
}


def predicates() -> str:
    rows = []
    for name in sorted(PREDICATES):
        always = " (always on)" if name in MANDATORY else ""
        rows.append((code(name), ", ".join(map(_plugin, PREDICATES[name])) + always))
    return table(("predicate", "plugin"), rows)


def priorities() -> str:
    return table(("priority", "plugin"), [(code(name), _plugin(PRIORITIES[name])) for name in sorted(PRIORITIES)])


def _plugin(plugin: str) -> str:
    """A link to a default plugin, or the replacement of a removed one."""
    if plugin in DEFAULT_WEIGHTS:
        return f"[{plugin}](../reference/default-plugins.md#{plugin.lower()})"
    return _REMOVED[plugin]
