"""Predicates and priorities of old, and what does their work today."""

from tests.docs.reference.tables import code, table

from stowplan.config.conversion.policy_tables import MANDATORY, PREDICATES, PRIORITIES
from stowplan.config.defaults import DEFAULT_WEIGHTS

_GONE = {
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
    "NodeLabel": "NodeAffinity, by `addedAffinity` in its args",
    "NodePreferAvoidPods": "nothing; taint such nodes `PreferNoSchedule`",
    "NodeResourceLimits": "nothing",
    "NodeResourcesLeastAllocated": "NodeResourcesFit, strategy `LeastAllocated`",
    "NodeResourcesMostAllocated": "NodeResourcesFit, strategy `MostAllocated`",
    "RequestedToCapacityRatio": "NodeResourcesFit, strategy `RequestedToCapacityRatio`",
    "SelectorSpread": "PodTopologySpread, by its default constraints",
    "ServiceAffinity": "nothing; pod affinity, or a plugin of your own",
    "": "nothing; it made no difference",
}


def predicates() -> str:
    rows = []
    for name in sorted(PREDICATES):
        always = " (always on)" if name in MANDATORY else ""
        rows.append((code(name), ", ".join(map(_today, PREDICATES[name])) + always))
    return table(("predicate", "today"), rows)


def priorities() -> str:
    return table(("priority", "today"), [(code(name), _today(PRIORITIES[name])) for name in sorted(PRIORITIES)])


def _today(plugin: str) -> str:
    """A default plugin by its name, linked; of the others what took their place."""
    if plugin in DEFAULT_WEIGHTS:
        return f"[{plugin}](../reference/default-plugins.md#{plugin.lower()})"
    return _GONE[plugin]
