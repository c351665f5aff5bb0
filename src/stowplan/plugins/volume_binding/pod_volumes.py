"""The volumes and claims of a pod, read once per cycle.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (GetPodVolumeClaims)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.node_selectors import CompiledNodeSelector
from stowplan.api.selectors import SelectorError
from stowplan.cache import Cluster
from stowplan.cache.volumes import (
    WAIT_FOR_FIRST_CONSUMER,
    Migration,
    TranslationError,
    affinity_of,
    claim_name,
    compile_affinity,
    migration_of,
    storage_class_of,
)
from stowplan.plugins.volume_binding.assume_cache import VolumeAssumeCache
from stowplan.plugins.volume_binding.claims import find_problem, is_bound, requested_size, selected_node
from stowplan.plugins.volume_binding.matching import CandidateVolumes
from stowplan.plugins.volume_binding.migration import translate_affinity
from stowplan.plugins.volume_binding.provisioning import Provisioning
from stowplan.plugins.volume_binding.reasons import BIND_CONFLICT, NAME, NOT_ENOUGH_SPACE, UNBOUND_IMMEDIATE, failure


class BoundVolume(NamedTuple):
    """The node affinity of a bound volume, and the translated one for nodes that migrated its plugin to CSI."""

    affinity: CompiledNodeSelector | None
    migration: Migration | None = None
    migrated_affinity: CompiledNodeSelector | None = None
    untranslatable: str = ""


class DelayedClaim(NamedTuple):
    """A claim with WaitForFirstConsumer."""

    claim: api.PersistentVolumeClaim
    provisioning: Provisioning
    candidates: CandidateVolumes | None
    """None if the claim is being provisioned."""

    def refusal(self, labels: Mapping[str, str]) -> str | None:
        """The reason that no volume can be provisioned for nodes with these labels, None if one can."""
        if not self.provisioning.allowed(labels):
            return BIND_CONFLICT
        return None if self.provisioning.has_room(labels) else NOT_ENOUGH_SPACE


class PodVolumes:
    """The claims of a pod by state."""

    def __init__(self) -> None:
        self.bound: list[BoundVolume] = []
        self.missing = False
        """Whether a claim is bound to a volume that does not exist; the claims after it are not read."""
        self.provisioned: list[DelayedClaim] = []
        """Claims that are being provisioned for a node."""
        self.unmatched: list[DelayedClaim] = []
        """Claims without a volume, smallest first."""
        self.problem = ""
        """The error of a claim whose selector is malformed, or which needs a disabled feature."""

    @property
    def delayed(self) -> list[DelayedClaim]:
        return [*self.provisioned, *self.unmatched]

    def label_keys(self) -> frozenset[str]:
        """Keys of the node labels that claims without a volume depend on."""
        keys = [delayed.provisioning.keys for delayed in self.delayed]
        keys += [delayed.candidates.keys for delayed in self.unmatched if delayed.candidates is not None]
        return frozenset().union(*keys)


class Lookup:
    """Reads the objects behind a pod's volumes."""

    def __init__(self, cluster: Cluster) -> None:
        stores = cluster.stores
        self._stored_claims = stores.of(api.PersistentVolumeClaim)
        self._stored_volumes = stores.of(api.PersistentVolume)
        self.claims = VolumeAssumeCache(self._stored_claims, "persistentvolumeclaims")
        self.volumes = VolumeAssumeCache(self._stored_volumes, "persistentvolumes")
        self._classes = stores.of(api.StorageClass)
        self._drivers = stores.of(api.CSIDriver)
        self._capacities = stores.of(api.CSIStorageCapacity)
        self._attributes_classes = cluster.release.has("VolumeAttributesClass")
        self._offers: dict[tuple[str, str], list[api.PersistentVolume]] = {}
        self._offers_version = -1

    def prepare(self, pod: fwk.Pod) -> PodVolumes | fwk.Status:
        """The volumes of a pod, or the status that rejects the pod (GetPodVolumeClaims)."""
        if problem := find_problem(pod, self._stored_claims):
            return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, problem, plugin=NAME)
        found = PodVolumes()
        immediate = False
        for claim in self.claims_of(pod):
            if is_bound(claim):
                self._add_bound(found, claim)
                continue
            storage_class = self._classes.get(storage_class_of(claim))
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return failure(f'VolumeBindingMode not set for StorageClass "{storage_class.metadata.name}"')
            delays = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
            if storage_class is None or not delays or claim.spec.volume_name:
                immediate = True
            elif not immediate:
                self._add_delayed(found, claim, storage_class)
        if immediate:
            return UNBOUND_IMMEDIATE
        found.unmatched.sort(key=lambda delayed: requested_size(delayed.claim))
        return found

    def claims_of(self, pod: fwk.Pod) -> Iterator[api.PersistentVolumeClaim]:
        """The claims of a pod that exist, in the order of its volumes."""
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if name is not None and (claim := self.claims.get(name, pod.namespace)) is not None:
                yield claim

    def storage_class(self, name: str) -> api.StorageClass | None:
        return self._classes.get(name) if name else None

    def free_volumes(self, class_name: str) -> list[api.PersistentVolume]:
        """The volumes of a class that are not bound to a claim."""
        return [
            volume
            for volume in self.volumes.all_latest(self._stored_volumes)
            if storage_class_of(volume) == class_name and volume.spec.claim_ref is None
        ]

    def capacities(self, class_name: str) -> list[api.CSIStorageCapacity]:
        return [each for each in self._capacities if each.storage_class_name == class_name]

    def _add_bound(self, found: PodVolumes, claim: api.PersistentVolumeClaim) -> None:
        volume = None if found.missing else self.volumes.get(claim.spec.volume_name)
        if volume is None:
            found.missing = True
            return
        migration = migration_of(volume.spec)
        if migration is None or not migration.complete:
            found.bound.append(BoundVolume(affinity_of(volume)))
            return
        try:
            translated = translate_affinity(volume, migration)
        except TranslationError as problem:
            found.bound.append(BoundVolume(affinity_of(volume), migration, None, f"could not translate pv: {problem}"))
            return
        migrated_affinity = None if translated is None else compile_affinity(translated)
        found.bound.append(BoundVolume(affinity_of(volume), migration, migrated_affinity))

    def _add_delayed(
        self, found: PodVolumes, claim: api.PersistentVolumeClaim, storage_class: api.StorageClass
    ) -> None:
        driver = self._drivers.get(storage_class.provisioner)
        provisioning = Provisioning(claim, storage_class, driver, self._capacities)
        if selected_node(claim) is not None:
            found.provisioned.append(DelayedClaim(claim, provisioning, None))
            return
        if claim.spec.volume_attributes_class_name and not self._attributes_classes:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            disabled = "when the feature-gate VolumeAttributesClass is disabled"
            found.problem = f"unsupported volumeAttributesClassName is set on claim {key} {disabled}"
            return
        try:
            candidates = CandidateVolumes(claim, self.volumes.all_latest(self._offers_for(claim, storage_class)))
        except SelectorError as problem:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            found.problem = f"error creating internal label selector for claim: {key}: {problem}"
            return
        found.unmatched.append(DelayedClaim(claim, provisioning, candidates))

    def _offers_for(
        self, claim: api.PersistentVolumeClaim, storage_class: api.StorageClass
    ) -> list[api.PersistentVolume]:
        """The volumes of a class that are available or pre-bound to the claim. Indexed: most are bound to others."""
        if self._offers_version != self._stored_volumes.version:
            self._offers_version = self._stored_volumes.version
            self._offers = {}
            for volume in self._stored_volumes:
                ref = volume.spec.claim_ref
                holder = "" if ref is None else f"{ref.namespace}/{ref.name}"
                self._offers.setdefault((storage_class_of(volume), holder), []).append(volume)
        name, holder = storage_class.metadata.name, f"{claim.metadata.namespace}/{claim.metadata.name}"
        return [*self._offers.get((name, holder), ()), *self._offers.get((name, ""), ())]
