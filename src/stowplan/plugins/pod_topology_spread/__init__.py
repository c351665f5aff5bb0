"""The plugin PodTopologySpread.

Belongs here: the constraints of a pod, its own or the configured defaults; the nodes that count for them; the rules of
skew and of the score. Does not belong here: counting pods (`cache`). May import: what `plugins` may.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread
"""

from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
