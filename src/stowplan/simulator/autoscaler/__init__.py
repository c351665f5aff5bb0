"""Models of node autoscalers: cluster-autoscaler and Karpenter, with the names and defaults of their settings.

Belongs here: node groups (`node_groups`), placement of pods on nodes that do not exist yet by the profile's own filters
(`estimator`), and the two models. Does not belong here: fields of the scenario (`scenario.schema`), drains
(`node_lifecycle`). May import the rest of the simulator, except `scenario`, and the rooms below it.

Not modelled: resources that DaemonSet pods take on new nodes, balancing of similar groups, drift, spot prices, removal
of unreachable nodes (scale-down-unready-time, node repair).
"""

from stowplan.simulator.autoscaler.cluster_autoscaler import EXPANDERS, ClusterAutoscaler, ClusterAutoscalerSettings
from stowplan.simulator.autoscaler.karpenter import CONSOLIDATION_POLICIES, Karpenter, KarpenterSettings
from stowplan.simulator.autoscaler.node_groups import NodeGroup, NodeGroups

__all__ = [
    "CONSOLIDATION_POLICIES",
    "EXPANDERS",
    "ClusterAutoscaler",
    "ClusterAutoscalerSettings",
    "Karpenter",
    "KarpenterSettings",
    "NodeGroup",
    "NodeGroups",
]
