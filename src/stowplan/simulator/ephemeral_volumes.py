"""Claims of ephemeral volumes, which come and go with their pod."""

from __future__ import annotations

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, Change
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.pod_factory import owned_by


class EphemeralVolumeController:
    """Makes the claims; they are deleted as all that a pod owns is."""

    def __init__(self, world: ApiServer, admission: Admission) -> None:
        self._world = world
        self._admission = admission

    def on_pod(self, change: Change) -> None:
        pod: api.Pod = change.item
        if change.removed or not pod.spec.volumes or not is_active(pod):
            return
        for volume in pod.spec.volumes:
            template = None if volume.ephemeral is None else volume.ephemeral.volume_claim_template
            if template is None:
                continue
            name, namespace = f"{pod.metadata.name}-{volume.name}", pod.metadata.namespace
            if self._world.get(api.PersistentVolumeClaim, name, namespace) is None:
                metadata = api.ObjectMeta(
                    name=name,
                    namespace=namespace,
                    labels=template.metadata.labels,
                    annotations=template.metadata.annotations,
                    owner_references=owned_by(pod),
                )
                claim = api.PersistentVolumeClaim(metadata=metadata, spec=template.spec)
                self._world.put(self._admission.admit(claim))
