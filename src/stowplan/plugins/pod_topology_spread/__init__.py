"""The plugin PodTopologySpread.

Belongs here: which constraints a pod has, its own or the configured defaults, which nodes count for them, and the
rules of skew and of the score. Does not belong here: counting pods, which `cache` does. May import what every plugin
may.
"""

from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
