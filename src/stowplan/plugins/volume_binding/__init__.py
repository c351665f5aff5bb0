"""VolumeBinding: where the pod's bound volumes can be reached, and where its unbound claims can find volumes.

Belongs here: sorting a pod's claims, matching them with existing volumes, whether new ones can be provisioned, and the
overlay of decisions that the API server has not heard of yet. Does not belong here: calls to an API server.
"""

from stowplan.plugins.volume_binding.binder import VolumeDecision
from stowplan.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding", "VolumeDecision"]
