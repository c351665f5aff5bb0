"""The volumes in use on every node, as columns that are repaired where pods, claims, volumes or attachments change.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stowplan import api
from stowplan import framework as fwk
from stowplan.cache import Cluster, key_of
from stowplan.cache.kept import KeptBySlot
from stowplan.cache.stores import ApiObject
from stowplan.cache.volumes import claim_name, storage_class_of
from stowplan.plugins.node_volume_limits.attachable import Attachable, AttachableVolumes, attachable_volumes

Source = tuple[type, str]
"""The kind and key of an object that the volumes of a node depend on."""

K = TypeVar("K")

_NONE: frozenset[Attachable] = frozenset()


class VolumesInUse(KeptBySlot[None]):
    """Volumes that the pods on a node use, and the number of these and of other attached volumes by driver."""

    def __init__(self, cluster: Cluster, attachable: AttachableVolumes) -> None:
        super().__init__(cluster.nodes)
        self._attachable = attachable
        self._stale: set[int] = set()
        self._forget_everything()
        attachable.claims.listen(self._object_changed)
        attachable.volumes.listen(self._object_changed)
        attachable.classes.listen(self._object_changed)
        attachable.attachments.listen(self._attachment_changed)

    def update(self) -> None:
        """Bring the columns up to date."""
        self.refresh(None)
        if self._stale:
            stale, self._stale = self._stale, set()
            for slot in stale:
                self.repair_one(slot)

    def of_slot(self, slot: int) -> frozenset[Attachable]:
        """The volumes that pods on a node use."""
        return self._used.get(slot, _NONE)

    def counts(self, driver: str) -> NDArray[np.int64]:
        """By slot: the number of a driver's volumes."""
        column = self._counts.get(driver)
        if column is None:
            column = self._counts[driver] = np.zeros(self.nodes.capacity, dtype=np.int64)
        return column

    def slots_with(self, volumes: Iterable[Attachable]) -> set[int]:
        """The slots on which pods use one of the volumes, or on which a volume cannot be looked up."""
        slots = set(self.errors)
        for volume in volumes:
            slots |= self._slots_of.get(volume, set())
        return slots

    def rebuild(self, context: None) -> None:
        self._forget_everything()
        self._stale.clear()
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: fwk.Slots, context: None = None) -> None:
        for slot in slots.tolist():
            self.repair_one(slot)

    def repair_one(self, slot: int, context: None = None) -> None:
        self._forget(slot)
        info = self.nodes.infos[slot]
        if info is None:
            return
        used: set[Attachable] = set()
        for pod in info.pods.values():
            if pod.template.spec.volumes:
                self._depend(slot, self._sources_of(pod))
                theirs = self._attachable.of_pod(pod, migrated=True)
                if isinstance(theirs, fwk.Status):
                    self.errors[slot] = theirs
                    return
                used |= theirs
        attached = self._attachable.at_node(info.name)
        if used or attached:
            self._enter(slot, info.name, used, attached)

    def _enter(self, slot: int, name: str, used: set[Attachable], attached: set[Attachable]) -> None:
        self._used[slot] = frozenset(used)
        for volume in used:
            self._slots_of.setdefault(volume, set()).add(slot)
        self._depend(slot, ((api.PersistentVolume, volume) for volume in self._attachable.attached_volumes(name)))
        for driver, number in Counter(driver for driver, _ in used | attached).items():
            self.counts(driver)[slot] = number

    def _forget_everything(self) -> None:
        self.errors: dict[int, fwk.Status] = {}
        """By slot: why the volumes of a pod on the node cannot be looked up."""
        self._used: dict[int, frozenset[Attachable]] = {}
        self._slots_of: dict[Attachable, set[int]] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}
        self._sources: dict[int, set[Source]] = {}
        self._dependents: dict[Source, set[int]] = {}

    def _forget(self, slot: int) -> None:
        self.errors.pop(slot, None)
        for volume in self._used.pop(slot, _NONE):
            _remove(self._slots_of, volume, slot)
        for source in self._sources.pop(slot, set()):
            _remove(self._dependents, source, slot)
        for column in self._counts.values():
            column[slot] = 0

    def _depend(self, slot: int, sources: Iterable[Source]) -> None:
        own = self._sources.setdefault(slot, set())
        for source in sources:
            own.add(source)
            self._dependents.setdefault(source, set()).add(slot)

    def _sources_of(self, pod: fwk.Pod) -> Iterable[Source]:
        for volume in attachable_volumes(pod.template):
            name = claim_name(pod, volume)
            if not name:
                continue
            yield api.PersistentVolumeClaim, f"{pod.namespace}/{name}"
            claim = self._attachable.claims.get(name, pod.namespace)
            if claim is not None:
                yield api.PersistentVolume, claim.spec.volume_name
                yield api.StorageClass, storage_class_of(claim)

    def _object_changed(self, old: ApiObject | None, new: ApiObject | None) -> None:
        item = new if new is not None else old
        if item is not None:
            self._stale |= self._dependents.get((type(item), key_of(item.metadata)), set())

    def _attachment_changed(self, old: api.VolumeAttachment | None, new: api.VolumeAttachment | None) -> None:
        for attachment in (old, new):
            slot = None if attachment is None else self.nodes.slot_of.get(attachment.spec.node_name)
            if slot is not None:
                self._stale.add(slot)


def _remove(index: dict[K, set[int]], key: K, slot: int) -> None:
    slots = index[key]
    slots.discard(slot)
    if not slots:
        del index[key]
