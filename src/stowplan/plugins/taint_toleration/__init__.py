"""TaintToleration: taints of nodes and tolerations of pods.

Upstream: pkg/scheduler/framework/plugins/tainttoleration
"""

from stowplan.plugins.taint_toleration.plugin import TaintToleration

__all__ = ["TaintToleration"]
