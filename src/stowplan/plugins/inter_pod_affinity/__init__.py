"""The plugin InterPodAffinity.

Belongs here: the rules of pod affinity and anti-affinity, in both directions, over live sums by topology domain. Does
not belong here: counting pods (`cache`). May import: what `plugins` may.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity
"""

from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
