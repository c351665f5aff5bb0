"""What in-tree plugins share.

Belongs here: the class that they all extend, and what more than one of them would otherwise work out by itself. Does
not belong here: any rule that a single plugin decides by. Other plugins import from this package, not from its modules.
"""

from stowplan.plugins.base.cpu_and_memory import BALANCED, LEAST_ALLOCATED, CpuAndMemory
from stowplan.plugins.base.node_facts import EXACT_IN_FLOAT
from stowplan.plugins.base.plugin import Demand, InTreePlugin, ScoringTeam

__all__ = [
    "BALANCED",
    "EXACT_IN_FLOAT",
    "LEAST_ALLOCATED",
    "CpuAndMemory",
    "Demand",
    "InTreePlugin",
    "ScoringTeam",
]
