"""NodeResourceTopologyMatch: nodes on which the kubelet can align a pod with NUMA zones.

Belongs here: the zones of nodes as agents report them, their state between reports, alignment and scores.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology
"""

from stowplan.optional_plugins.node_resource_topology_match.plugin import NodeResourceTopologyMatch

__all__ = ["NodeResourceTopologyMatch"]
