"""Controllers of PersistentVolumes and their claims, and of ephemeral volumes.

Claims with WaitForFirstConsumer are left to the scheduler: it reserves a volume, or selects a node for provisioning,
and this controller completes the binding.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, pkg/controller/volume/ephemeral/controller.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api.selectors import SelectorError
from stowplan.cache.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    storage_class_of,
)
from stowplan.plugins.volume_binding.binder import bind
from stowplan.plugins.volume_binding.matching import Wish, capacity, is_for
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer, ObjectChange
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.provisioner import PROVISIONED_BY, Provisioner
from stowplan.simulator.workloads.pod_factory import owned_by

Key = tuple[str, str]


class VolumeController:
    """Binds claims to volumes and provisions volumes."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._provisioner = Provisioner(api_server)
        self._free: dict[str, dict[str, None]] = {}
        """By storage class, volumes without a claimRef."""
        self._reserved: dict[Key, dict[str, None]] = {}
        """By claim, the volumes whose claimRef names it."""
        self._unbound: dict[str, dict[Key, None]] = {}
        """By storage class, claims for which no volume was found."""

    def on_storage_class(self, change: ObjectChange) -> None:
        """Retries the claims of the class."""
        if not change.removed:
            self._retry(change.item.metadata.name)

    def on_claim(self, change: ObjectChange) -> None:
        claim: api.PersistentVolumeClaim = change.item
        if change.removed:
            self._release(claim)
        else:
            self._sync_claim(_key(claim))

    def on_volume(self, change: ObjectChange) -> None:
        volume: api.PersistentVolume = change.item
        name = volume.metadata.name
        self._free.get(storage_class_of(volume), {}).pop(name, None)
        if (reference := volume.spec.claim_ref) is not None:
            self._reserved.get((reference.namespace, reference.name), {}).pop(name, None)
        current = self._api_server.get(api.PersistentVolume, name)
        if current is None:
            self._lose(volume)
        else:
            self._sync_volume(current)

    def _sync_volume(self, volume: api.PersistentVolume) -> None:
        name, reference = volume.metadata.name, volume.spec.claim_ref
        if reference is None:
            self._free.setdefault(storage_class_of(volume), {})[name] = None
            self._set_phase(volume, "Available")
            self._retry(storage_class_of(volume))
            return
        key = reference.namespace, reference.name
        self._reserved.setdefault(key, {})[name] = None
        claim = self._claim(key)
        if not reference.uid:
            self._set_phase(volume, "Available")
        if claim is None or not is_for(volume, claim):
            return
        if claim.spec.volume_name == name and BIND_COMPLETED in claim.metadata.annotations:
            self._set_phase(volume, "Bound")
        elif claim.spec.volume_name in ("", name):
            self._sync_claim(key)
        elif BOUND_BY_CONTROLLER in volume.metadata.annotations:
            # The scheduler reserved it for a claim that was bound to another volume meanwhile.
            self._api_server.put(replace(volume, spec=replace(volume.spec, claim_ref=None)))

    def _sync_claim(self, key: Key) -> None:
        claim = self._claim(key)
        if claim is None or BIND_COMPLETED in claim.metadata.annotations:
            return
        self._unbound.get(storage_class_of(claim), {}).pop(key, None)
        volume = self._find_volume(claim)
        if volume is not None:
            self._bind(volume, claim)
        elif claim.spec.volume_name:
            self._unbound.setdefault(storage_class_of(claim), {})[key] = None
        elif not self._is_delayed(claim) or SELECTED_NODE in claim.metadata.annotations:
            self._provision(claim)

    def _find_volume(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolume | None:
        """The volume that the claim names, one reserved for it, or the smallest matching free volume."""
        try:
            wish = Wish(claim)
        except SelectorError:
            return None
        if claim.spec.volume_name:
            named = self._api_server.get(api.PersistentVolume, claim.spec.volume_name)
            return named if named is not None and wish.suits(named) else None
        for volume in self._volumes(self._reserved.get(_key(claim), ())):
            if is_for(volume, claim) and wish.suits(volume):
                return volume
        if self._is_delayed(claim):
            return None
        free = self._volumes(self._free.get(storage_class_of(claim), ()))
        matching = [each for each in free if each.spec.claim_ref is None and wish.suits(each) and wish.may_take(each)]
        return min(matching, key=capacity, default=None)

    def _bind(self, volume: api.PersistentVolume, claim: api.PersistentVolumeClaim) -> None:
        bound = replace(bind(volume, claim), status=replace(volume.status, phase="Bound"))
        marks = {BIND_COMPLETED: "yes"} | ({} if claim.spec.volume_name else {BOUND_BY_CONTROLLER: "yes"})
        bound_claim = replace(
            claim,
            metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, **marks}),
            spec=replace(claim.spec, volume_name=volume.metadata.name),
            status=replace(
                claim.status, phase="Bound", access_modes=volume.spec.access_modes, capacity=volume.spec.capacity
            ),
        )
        if bound != volume:
            self._api_server.put(bound)
        self._api_server.put(bound_claim)

    def _provision(self, claim: api.PersistentVolumeClaim) -> None:
        volume = self._provisioner.make(claim)
        if volume is not None:
            if self._api_server.get(api.PersistentVolume, volume.metadata.name) is None:
                self._api_server.put(volume)
        elif SELECTED_NODE in claim.metadata.annotations:
            # The node is gone or cannot be provisioned for: the scheduler selects another.
            kept = {key: value for key, value in claim.metadata.annotations.items() if key != SELECTED_NODE}
            self._api_server.put(replace(claim, metadata=replace(claim.metadata, annotations=kept)))
        else:
            self._unbound.setdefault(storage_class_of(claim), {})[_key(claim)] = None

    def _retry(self, storage_class: str) -> None:
        """Retry the unbound claims of a class."""
        for key in list(self._unbound.get(storage_class, ())):
            self._sync_claim(key)

    def _release(self, claim: api.PersistentVolumeClaim) -> None:
        """A claim was deleted: a provisioned volume is deleted too, any other becomes Released."""
        for volume in self._volumes(self._reserved.pop(_key(claim), ())):
            if not is_for(volume, claim):
                continue
            if PROVISIONED_BY in volume.metadata.annotations:
                self._api_server.delete(volume)
            else:
                self._set_phase(volume, "Released")

    def _lose(self, volume: api.PersistentVolume) -> None:
        """A volume was deleted: the claim bound to it is Lost."""
        reference = volume.spec.claim_ref
        claim = None if reference is None else self._claim((reference.namespace, reference.name))
        if claim is not None and claim.spec.volume_name == volume.metadata.name and claim.status.phase != "Lost":
            self._api_server.put(replace(claim, status=replace(claim.status, phase="Lost")))

    def _set_phase(self, volume: api.PersistentVolume, phase: str) -> None:
        if volume.status.phase != phase:
            self._api_server.put(replace(volume, status=replace(volume.status, phase=phase)))

    def _is_delayed(self, claim: api.PersistentVolumeClaim) -> bool:
        storage_class = self._api_server.get(api.StorageClass, storage_class_of(claim))
        return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    def _claim(self, key: Key) -> api.PersistentVolumeClaim | None:
        return self._api_server.get(api.PersistentVolumeClaim, key[1], key[0])

    def _volumes(self, names: Iterable[str]) -> list[api.PersistentVolume]:
        found = (self._api_server.get(api.PersistentVolume, name) for name in names)
        return [volume for volume in found if volume is not None]


def _key(item: Any) -> Key:
    return item.metadata.namespace, item.metadata.name


class EphemeralVolumeController:
    """Creates the claims of ephemeral volumes; the pod owns them, so they are deleted with it."""

    def __init__(self, api_server: ApiServer, admission: Admission) -> None:
        self._api_server = api_server
        self._admission = admission

    def on_pod(self, change: ObjectChange) -> None:
        pod: api.Pod = change.item
        if change.removed or not pod.spec.volumes or not is_active(pod):
            return
        for volume in pod.spec.volumes:
            template = None if volume.ephemeral is None else volume.ephemeral.volume_claim_template
            if template is None:
                continue
            name, namespace = f"{pod.metadata.name}-{volume.name}", pod.metadata.namespace
            if self._api_server.get(api.PersistentVolumeClaim, name, namespace) is None:
                metadata = api.ObjectMeta(
                    name=name,
                    namespace=namespace,
                    labels=template.metadata.labels,
                    annotations=template.metadata.annotations,
                    owner_references=owned_by(pod),
                )
                claim = api.PersistentVolumeClaim(metadata=metadata, spec=template.spec)
                self._api_server.put(self._admission.admit(claim))
