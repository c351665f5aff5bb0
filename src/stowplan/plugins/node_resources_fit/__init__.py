"""NodeResourcesFit: whether a node has room for the pod's requests, and how well it would be used.

Upstream: pkg/scheduler/framework/plugins/noderesources
"""

from stowplan.plugins.node_resources_fit.lowering import lower_request
from stowplan.plugins.node_resources_fit.plugin import NodeResourcesFit

__all__ = ["NodeResourcesFit", "lower_request"]
