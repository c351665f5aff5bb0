"""Code that in-tree plugins share.

Belongs here: the class that all in-tree plugins extend, and computations that more than one plugin uses. Does not
belong here: rules of a single plugin. May import: what `plugins` may. Plugins import from this package, not from its
modules.
"""

from stowplan.plugins.base.claims_in_words import explain_claims, location_refusal
from stowplan.plugins.base.cordon import UNSCHEDULABLE_TAINT, cordoned
from stowplan.plugins.base.cpu_and_memory import (
    BALANCED_PART,
    LEAST_ALLOCATED_PART,
    CpuAndMemory,
    shared_scorer_of,
)
from stowplan.plugins.base.node_facts import EXACT_IN_FLOAT
from stowplan.plugins.base.other_pods import (
    MAX_EXAMINED_PODS,
    MAX_EXPLAINED_RULES,
    in_words_with_owner,
    leave,
    matching_labels,
    pods_in_domain,
)
from stowplan.plugins.base.plugin import Demand, InTreePlugin, SharedScorer
from stowplan.plugins.base.victim_rules import InTreeHandle, VictimRules

__all__ = [
    "BALANCED_PART",
    "EXACT_IN_FLOAT",
    "LEAST_ALLOCATED_PART",
    "MAX_EXAMINED_PODS",
    "MAX_EXPLAINED_RULES",
    "UNSCHEDULABLE_TAINT",
    "CpuAndMemory",
    "Demand",
    "InTreeHandle",
    "InTreePlugin",
    "SharedScorer",
    "VictimRules",
    "cordoned",
    "explain_claims",
    "in_words_with_owner",
    "leave",
    "location_refusal",
    "matching_labels",
    "pods_in_domain",
    "shared_scorer_of",
]
