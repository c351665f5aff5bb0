"""Controller of StatefulSets: pods with ordinals and claims of their own.

Upstream: pkg/controller/statefulset/stateful_set_control.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.identity import template_hash
from stowplan.simulator.pod_status import is_active, is_healthy
from stowplan.simulator.workloads.workload_controller import WorkloadController, replicas_of

_REVISION_LABEL = "controller-revision-hash"
_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"


class StatefulSetController(WorkloadController):
    """Creates the pods of a StatefulSet, and the claims from its templates.

    With podManagementPolicy OrderedReady, a pod is created only once all pods before it are ready.
    """

    kind = api.StatefulSet
    has_replicas = rolls_out = waits_for_deletion = keeps_pod_names = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ready: dict[str, int] = {}
        """By uid of the StatefulSet, the number of pods from the first on that are known to be ready."""

    def awaits_start(self, owner: api.StatefulSet) -> bool:
        return _in_order(owner)

    def saw(self, pod: api.Pod, owner: api.StatefulSet) -> None:
        if not is_active(pod):
            self._ready.pop(owner.metadata.uid, None)

    def lost(self, pod: api.Pod, owner: api.StatefulSet) -> None:
        self._ready.pop(owner.metadata.uid, None)

    def forget(self, owner: api.StatefulSet) -> None:
        super().forget(owner)
        self._ready.pop(owner.metadata.uid, None)

    def adapted(self, owner: api.StatefulSet, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        revision = f"{owner.metadata.name}-{template_hash(template)}"
        labels = {**template.metadata.labels, _REVISION_LABEL: revision}
        return replace(template, metadata=replace(template.metadata, labels=labels))

    def lacking(self, owner: api.StatefulSet) -> Iterator[api.Pod | api.PersistentVolumeClaim]:
        wanted, uid = replicas_of(owner), owner.metadata.uid
        start = owner.spec.ordinals.start if owner.spec.ordinals else 0
        for index in range(self._ready.get(uid, 0), wanted):
            ordinal = start + index
            pod = self.api_server.get(api.Pod, f"{owner.metadata.name}-{ordinal}", owner.metadata.namespace)
            if pod is None:
                yield from self._claims(owner, ordinal)
                yield self._pod(owner, ordinal)
            if not _in_order(owner):
                continue
            if pod is None or not is_healthy(pod):
                break
            self._ready[uid] = index + 1

    def waiting(self, owner: api.StatefulSet) -> str | None:
        missing = replicas_of(owner) - len(self.api_server.dependents(owner.metadata.uid, api.Pod))
        if missing <= 0 or not _in_order(owner):
            return None
        return f"{missing} of {replicas_of(owner)} pods are not created before the previous one is ready"

    def _pod(self, owner: api.StatefulSet, ordinal: int) -> api.Pod:
        pods = self.pod_factory(owner, owner.spec.template)
        name = f"{owner.metadata.name}-{ordinal}"
        labels = {**pods.labels, _NAME_LABEL: name, _INDEX_LABEL: str(ordinal)}
        spec = pods.spec
        if owner.spec.volume_claim_templates:
            spec = replace(spec, volumes=_volumes(owner, spec.volumes, ordinal))
        return pods.pod(name, labels=labels, spec=spec)

    def _claims(self, owner: api.StatefulSet, ordinal: int) -> Iterator[api.PersistentVolumeClaim]:
        selector = owner.spec.selector or api.LabelSelector()
        for template in owner.spec.volume_claim_templates:
            name = _claim_name(owner, template, ordinal)
            if self.api_server.get(api.PersistentVolumeClaim, name, owner.metadata.namespace) is None:
                labels = {**template.metadata.labels, **selector.match_labels}
                metadata = api.ObjectMeta(
                    name=name,
                    namespace=owner.metadata.namespace,
                    labels=labels,
                    annotations=template.metadata.annotations,
                )
                yield api.PersistentVolumeClaim(metadata=metadata, spec=template.spec)


def _in_order(owner: api.StatefulSet) -> bool:
    return owner.spec.pod_management_policy != "Parallel"


def _claim_name(owner: api.StatefulSet, template: api.PersistentVolumeClaim, ordinal: int) -> str:
    return f"{template.metadata.name}-{owner.metadata.name}-{ordinal}"


def _volumes(owner: api.StatefulSet, volumes: tuple[api.Volume, ...], ordinal: int) -> tuple[api.Volume, ...]:
    """The pod's volumes; claims from templates replace volumes of the same name."""
    claimed = {}
    for template in owner.spec.volume_claim_templates:
        source = api.PersistentVolumeClaimVolumeSource(claim_name=_claim_name(owner, template, ordinal))
        claimed[template.metadata.name] = api.Volume(name=template.metadata.name, persistent_volume_claim=source)
    return (*claimed.values(), *(volume for volume in volumes if volume.name not in claimed))
