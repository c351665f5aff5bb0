"""PreBind: writes the decision about a pod's volumes, and waits until the volumes are bound.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (BindPodVolumes)
"""

from __future__ import annotations

from typing import Any

from stowplan import api
from stowplan import framework as fwk
from stowplan.api import codec
from stowplan.cache import Cluster, key_of
from stowplan.cache.volumes import (
    SELECTED_NODE,
    TranslationError,
    affinity_of,
    compile_affinity,
    migration_of,
    not_found,
)
from stowplan.errors import StowplanError
from stowplan.plugins.volume_binding.binder import Binder, VolumeDecision
from stowplan.plugins.volume_binding.claims import is_bound
from stowplan.plugins.volume_binding.migration import translate_affinity
from stowplan.plugins.volume_binding.reasons import failure

POLL_SECONDS = 1.0
"""Between two checks whether the volumes are bound."""


class BindingError(StowplanError):
    """The volumes cannot be bound as decided. The text is kube-scheduler's."""


class VolumeWriter:
    """Writes decisions. Uses patches, since the structs have only the fields that are read."""

    def __init__(self, cluster: Cluster, binder: Binder, timeout: float) -> None:
        self._cluster = cluster
        self._binder = binder
        self._timeout = timeout
        self._volumes = cluster.stores.of(api.PersistentVolume)
        self._claims = cluster.stores.of(api.PersistentVolumeClaim)

    async def carry_out(self, pod: fwk.Pod, node_name: str, decision: VolumeDecision) -> fwk.Status | None:
        written = await self._write(decision)
        if isinstance(written, fwk.Failure):
            return failure(written.message)
        waited = 0.0
        while waited < self._timeout:
            await fwk.Sleep(POLL_SECONDS)
            waited += POLL_SECONDS
            try:
                if self._is_done(pod, node_name, written):
                    return None
            except BindingError as problem:
                return failure(f"binding volumes: {problem}")
        return failure("binding volumes: context deadline exceeded")

    async def _write(self, decision: VolumeDecision) -> VolumeDecision | fwk.Failure:
        """Write volumes, then claims; returns the decision with the objects of the responses."""
        bindings = []
        for claim, volume in decision.bindings:
            stored = await fwk.Write("patch", "PersistentVolume", volume, _claiming(volume))
            if isinstance(stored, fwk.Failure):
                return stored
            bindings.append((claim, stored))
        provisions = []
        for claim in decision.provisions:
            annotation = {SELECTED_NODE: claim.metadata.annotations[SELECTED_NODE]}
            stored = await fwk.Write("patch", "PersistentVolumeClaim", claim, {"metadata": {"annotations": annotation}})
            if isinstance(stored, fwk.Failure):
                return stored
            provisions.append(stored)
        return VolumeDecision(tuple(bindings), tuple(provisions))

    def _is_done(self, pod: fwk.Pod, node_name: str, written: VolumeDecision) -> bool:
        node = self._cluster.nodes.get(node_name)
        if node is None:
            raise BindingError(f'failed to get node "{node_name}": node "{node_name}" not found')
        if pod.uid not in self._cluster.pods:
            raise BindingError(f'pod does not exist any more: pod "{pod.name}" not found')
        bound = all(self._is_bound(node, claim, volume) for claim, volume in written.bindings)
        return bound and all(self._is_provisioned(node, claim) for claim in written.provisions)

    def _is_bound(self, node: fwk.NodeInfo, claim: api.PersistentVolumeClaim, written: api.PersistentVolume) -> bool:
        volume = self._volumes.get(written.metadata.name)
        if volume is None:
            raise BindingError(f"failed to check binding: {not_found('persistentvolumes', written.metadata.name)}")
        stored = self._stored(claim, "failed to check binding")
        if _older(volume, written):
            return False
        try:
            self._check_affinity(volume, node)
        except TranslationError as problem:
            raise BindingError(f"failed to translate pv to csi: {problem}") from problem
        ref = volume.spec.claim_ref
        if ref is None or not ref.uid:
            raise BindingError(f'ClaimRef got reset for pv "{volume.metadata.name}"')
        return is_bound(stored)

    def _is_provisioned(self, node: fwk.NodeInfo, written: api.PersistentVolumeClaim) -> bool:
        claim = self._stored(written, "failed to check provisioning pvc")
        if _older(claim, written):
            return False
        name = claim.metadata.name
        if not claim.metadata.annotations:
            raise BindingError(f'selectedNode annotation reset for PVC "{name}"')
        if claim.metadata.annotations.get(SELECTED_NODE) != node.name:
            raise BindingError(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return False
            try:
                self._check_affinity(volume, node)
            except TranslationError as problem:
                raise BindingError(str(problem)) from problem
        return is_bound(claim)

    def _stored(self, claim: api.PersistentVolumeClaim, context: str) -> api.PersistentVolumeClaim:
        stored = self._claims.get(claim.metadata.name, claim.metadata.namespace)
        if stored is None:
            raise BindingError(f"{context}: {not_found('persistentvolumeclaims', key_of(claim.metadata))}")
        return stored

    def _check_affinity(self, volume: api.PersistentVolume, node: fwk.NodeInfo) -> None:
        """Raises BindingError if the node cannot reach the volume: the pod could not start there."""
        affinity = affinity_of(volume)
        migration = migration_of(volume.spec)
        if migration is not None and migration.complete and self._binder.migrated(migration.plugin, node):
            translated = translate_affinity(volume, migration)
            affinity = None if translated is None else compile_affinity(translated)
        if affinity is not None and not affinity.matches(node.labels, node.name):
            mismatch = f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.name}"'
            raise BindingError(f"{mismatch}: no matching NodeSelectorTerms")


def _claiming(volume: api.PersistentVolume) -> dict[str, Any]:
    """The patch that sets the claimRef of a volume."""
    ref = volume.spec.claim_ref
    return {
        "metadata": {"annotations": dict(volume.metadata.annotations)},
        "spec": {"claimRef": None if ref is None else codec.builtins(ref)},
    }


def _older(seen: api.PersistentVolume | api.PersistentVolumeClaim, written: Any) -> bool:
    """Whether the watch has not delivered the written version yet."""
    versions = seen.metadata.resource_version, written.metadata.resource_version
    return all(version.isdigit() for version in versions) and int(versions[0]) < int(versions[1])
