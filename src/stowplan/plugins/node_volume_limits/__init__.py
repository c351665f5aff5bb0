"""NodeVolumeLimits: no more volumes of a CSI driver on a node than its CSINode allows.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits
"""

from stowplan.plugins.node_volume_limits.plugin import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
