"""The CSI volumes that pods need attached, and that are attached to nodes.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from typing import TypeAlias

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster
from stowplan.cache.volumes import (
    MIGRATION_OF_PLUGIN,
    TranslationError,
    claim_name,
    csi_handle,
    csi_handle_of,
    migration_of,
    not_found,
    not_owner,
    storage_class_of,
)

NAME = "NodeVolumeLimits"

Attachable: TypeAlias = tuple[str, str]
"""A volume as (driver, handle). Two pods that share a volume need it attached once."""


class AttachableVolumes:
    """Looks volumes up in the cluster. In-tree volumes count only if CSI migration covers them."""

    def __init__(self, cluster: Cluster) -> None:
        self.claims = cluster.stores.of(api.PersistentVolumeClaim)
        self.volumes = cluster.stores.of(api.PersistentVolume)
        self.classes = cluster.stores.of(api.StorageClass)
        self.attachments = cluster.stores.of(api.VolumeAttachment)
        self._by_node: dict[str, list[api.VolumeAttachment]] = {}
        self._by_node_version = -1

    def of_pod(self, pod: fwk.Pod, *, migrated: bool, new: bool = False) -> set[Attachable] | fwk.Status:
        """The volumes that the pod needs. A missing claim is an error for a new pod, and is ignored for a running
        pod."""
        found: set[Attachable] = set()
        for volume in attachable_volumes(pod.template):
            name = claim_name(pod, volume)
            if name is None:
                if migrated:
                    try:
                        found |= _of_inline_volume(volume)
                    except TranslationError as problem:
                        return _error(f"converting volume({volume.name}) from inline to csi: {problem}")
                continue
            if not name:
                return _error("PersistentVolumeClaim had no name")
            claim = self.claims.get(name, pod.namespace)
            if claim is None:
                if new:
                    missing = not_found("persistentvolumeclaim", name)
                    reason = f"looking up PVC {pod.namespace}/{name}: {missing}"
                    return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, reason, plugin=NAME)
                continue
            if volume.persistent_volume_claim is None and (complaint := not_owner(pod, claim)):
                return _error(complaint)
            found |= self._of_claim(claim, migrated)
        return found

    def at_node(self, name: str) -> set[Attachable]:
        """The volumes attached to a node, whether or not a pod still uses them."""
        found = set()
        for attachment in self._attachments(name):
            volume = self.volumes.get(attachment.spec.source.persistent_volume_name or "")
            if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
                found.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return found

    def attached_volumes(self, name: str) -> list[str]:
        """The names of the persistent volumes attached to a node."""
        return [attachment.spec.source.persistent_volume_name or "" for attachment in self._attachments(name)]

    def of_claim(self, name: str, namespace: str) -> set[Attachable]:
        """The volume of a claim on a node with a CSINode; at most one."""
        found = self.claims.get(name, namespace)
        return set() if found is None else self._of_claim(found, migrated=True)

    def _attachments(self, node_name: str) -> list[api.VolumeAttachment]:
        if self._by_node_version != self.attachments.version:
            self._by_node_version = self.attachments.version
            self._by_node = {}
            for attachment in self.attachments:
                self._by_node.setdefault(attachment.spec.node_name, []).append(attachment)
        return self._by_node.get(node_name, [])

    def _of_claim(self, claim: api.PersistentVolumeClaim, migrated: bool) -> set[Attachable]:
        """At most one volume: the volume that the claim is bound to, or the one that its class will provision."""
        volume = self.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._of_unbound_claim(claim, migrated)
        if volume.spec.csi is not None:
            source = volume.spec.csi
            return {(source.driver, source.volume_handle)} if source.driver and source.volume_handle else set()
        migration = migration_of(volume.spec)
        if migration is None or not migration.complete or not migrated:
            return set()
        try:
            handle = csi_handle_of(volume)
        except TranslationError:
            return set()
        return {(migration.driver, handle)} if handle else set()

    def _of_unbound_claim(self, claim: api.PersistentVolumeClaim, migrated: bool) -> set[Attachable]:
        """The volume to be provisioned. It has no handle yet; a key made of the claim's name stands for it."""
        class_name = storage_class_of(claim)
        storage_class = self.classes.get(class_name) if class_name else None
        if storage_class is None:
            return set()
        driver = storage_class.provisioner
        if migration := MIGRATION_OF_PLUGIN.get(driver):
            driver = migration.driver if migration.complete and migrated else ""
        return (
            {(driver, f"to be provisioned for {claim.metadata.namespace}/{claim.metadata.name}")} if driver else set()
        )


def attachable_volumes(template: fwk.PodTemplate) -> tuple[api.Volume, ...]:
    """The volumes of a pod that may count: volumes with claims, and in-tree volumes that CSI migration covers."""
    return template.derive((NAME, "volumes"), _find_attachable) if template.spec.volumes else ()


def _find_attachable(template: fwk.PodTemplate) -> tuple[api.Volume, ...]:
    return tuple(
        volume
        for volume in template.spec.volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or migration_of(volume) is not None
    )


def _of_inline_volume(volume: api.Volume) -> set[Attachable]:
    migration = migration_of(volume)
    return {(migration.driver, csi_handle(volume))} if migration is not None and migration.complete else set()


def _error(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.Error, text, plugin=NAME)
