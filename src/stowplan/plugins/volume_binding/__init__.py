"""VolumeBinding: nodes that reach the pod's bound volumes, and volumes for its unbound claims.

Belongs here: sorting a pod's claims, matching them with existing volumes, dynamic provisioning, and the assume cache of
volumes and claims. Does not belong here: I/O; PreBind writes through instructions. May import: `plugins.base`, `cache`,
`config`, `framework`, `api`, `errors`.

Upstream: pkg/scheduler/framework/plugins/volumebinding
"""

from stowplan.plugins.volume_binding.binder import VolumeDecision
from stowplan.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding", "VolumeDecision"]
