"""NodeAffinity: node selector and node affinity of the pod, and the affinity that the configuration adds to all pods.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity
"""

from stowplan.plugins.node_affinity.demands import NodeDemand, NodeDemands, demands_of
from stowplan.plugins.node_affinity.plugin import NodeAffinity

__all__ = ["NodeAffinity", "NodeDemand", "NodeDemands", "demands_of"]
