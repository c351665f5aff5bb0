"""The plugin InterPodAffinity.

Belongs here: the rules of pod affinity and anti-affinity, in both directions, as live sums by topology domain. Does not
belong here: counting pods, which `cache` does. May import what every plugin may.
"""

from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
