"""VolumeZone: a pod runs only in the zones and regions of its persistent volumes.

Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.selector_words import requirement_in_words, topology_in_words
from stowplan.api.selectors import IN, requirement
from stowplan.cache import ABSENT
from stowplan.cache.node_matching import match_requirements
from stowplan.cache.volumes import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    WAIT_FOR_FIRST_CONSUMER,
    ZONE,
    ZONE_DELIMITER,
    claim_names,
    not_found,
    storage_class_of,
)
from stowplan.plugins.base import InTreePlugin, explain_claims, location_refusal

NAME = "VolumeZone"
STATE = "PreFilter" + NAME

ZONE_CONFLICT = fwk.Status(fwk.Code.UnschedulableAndUnresolvable, "node(s) had no available volume zone", plugin=NAME)

TOPOLOGY_LABELS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
"""The topology labels of volumes, each with the label that a node may have instead."""


class Topology(NamedTuple):
    """A topology label of a persistent volume, with the values that a node may have."""

    key: str
    values: frozenset[str]


class VolumeZone(InTreePlugin):
    """Reads the labels of bound volumes only; unbound claims have no zone yet."""

    name = NAME
    reads = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")

    def __init__(self, args: object, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self.claims = self.cluster.stores.of(api.PersistentVolumeClaim)
        self.volumes = self.cluster.stores.of(api.PersistentVolume)
        self.classes = self.cluster.stores.of(api.StorageClass)

    def concerns(self, template: fwk.PodTemplate) -> bool:
        return any(volume.persistent_volume_claim is not None for volume in template.spec.volumes)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        found = self._topologies(pod)
        if isinstance(found, fwk.Status):
            return found
        if not found:
            return fwk.skip()
        state.write(STATE, found)
        return None

    def filter(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        required = self._required(state, pod)
        if isinstance(required, fwk.Status):
            return required
        labels = node.labels
        if not any(key in labels for key in TOPOLOGY_LABELS):
            return None  # Nodes of a single-zone cluster may have no labels.
        return None if all(_is_in(node, topology) for topology in required) else ZONE_CONFLICT

    def filter_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes
    ) -> Iterator[tuple[fwk.Mask, fwk.Status]]:
        required = self._required(state, pod)
        if isinstance(required, fwk.Status):
            yield np.ones(len(nodes), dtype=np.bool_), required
            return
        present = {key: self.nodes.label(key).array[nodes.index] != ABSENT for key in TOPOLOGY_LABELS}
        labelled = np.logical_or.reduce(list(present.values()))
        if not labelled.any():
            return
        fits = np.ones(len(nodes), dtype=np.bool_)
        for key, values in required:
            matches = self._matching(key, values, nodes)
            if (instead := TOPOLOGY_LABELS[key]) != key:
                matches = np.where(present[key], matches, self._matching(instead, values, nodes))
            fits &= matches
        yield labelled & ~fits, ZONE_CONFLICT

    def settled_nodes(
        self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes, nominated: Iterable[Iterable[fwk.Pod]]
    ) -> fwk.Mask | None:
        return self.passing_nodes(state, pod, nodes)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.StorageClass, fwk.Action.Add, self._after_storage_class_add),
            fwk.on(fwk.EventResource.Node, fwk.Action.Add | fwk.Action.UpdateNodeLabel),
            fwk.on(
                fwk.EventResource.PersistentVolumeClaim, fwk.Action.Add | fwk.Action.Update, self._after_claim_event
            ),
            fwk.on(fwk.EventResource.PersistentVolume, fwk.Action.Add | fwk.Action.Update, self._after_volume_event),
        )

    def explain(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        for name in claim_names(pod):
            claim = self.claims.get(name, pod.namespace)
            volume = None if claim is None else self.volumes.get(claim.spec.volume_name)
            for topology in () if volume is None else topologies_of(volume):
                if not _is_in(node, topology):
                    assert volume is not None
                    key, values = topology
                    reachable = requirement_in_words(requirement(topology_in_words(key), IN, values))
                    there = key if key in node.labels else TOPOLOGY_LABELS[key]
                    yield location_refusal(volume.metadata.name, name, reachable, [there], node, ZONE_CONFLICT.reasons)

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        return explain_claims(self.cluster, pod, self.handle.now())

    def requirement(self, state: fwk.CycleState, pod: fwk.Pod, node: fwk.NodeInfo) -> fwk.Requirement | None:
        required: list[Topology] | None = state.get(STATE)
        if not required:
            return None
        wanted = [requirement_in_words(requirement(topology_in_words(key), IN, values)) for key, values in required]
        there = [node.labels.get(key, node.labels.get(TOPOLOGY_LABELS[key], "no label")) for key, _ in required]
        return fwk.Requirement(", ".join(wanted), ", ".join(there))

    def _required(self, state: fwk.CycleState, pod: fwk.Pod) -> list[Topology] | fwk.Status:
        """The result of PreFilter; computed here in a profile without PreFilter."""
        known: list[Topology] | None = state.get(STATE)
        return self._topologies(pod) if known is None else known

    def _topologies(self, pod: fwk.Pod) -> list[Topology] | fwk.Status:
        found: list[Topology] = []
        for name in claim_names(pod):
            topologies = self._topologies_of_claim(pod, name)
            if isinstance(topologies, str):
                return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, topologies, plugin=NAME)
            found += topologies
        return found

    def _topologies_of_claim(self, pod: fwk.Pod, name: str) -> list[Topology] | str:
        """The topology labels of the volume that a claim is bound to, or an error text."""
        if not name:
            return "PersistentVolumeClaim had no name"
        claim = self.claims.get(name, pod.namespace)
        if claim is None:
            return not_found("persistentvolumeclaim", name)
        if claim.spec.volume_name:
            volume = self.volumes.get(claim.spec.volume_name)
            return not_found("persistentvolume", claim.spec.volume_name) if volume is None else topologies_of(volume)
        class_name = storage_class_of(claim)
        if not class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self.classes.get(class_name)
        if storage_class is None:
            return not_found("storageclass.storage.k8s.io", class_name)
        if storage_class.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{class_name}"'
        return [] if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"

    def _matching(self, key: str, values: frozenset[str], nodes: fwk.Nodes) -> fwk.Mask:
        return match_requirements(self.nodes, (requirement(key, IN, values),), nodes.index)

    def _after_storage_class_add(self, pod: fwk.Pod, old: None, new: api.StorageClass) -> fwk.QueueingHint:
        """Claims of a class with immediate binding wait for a volume too."""
        waits = new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return fwk.QueueingHint.Queue if waits else fwk.QueueingHint.QueueSkip

    def _after_claim_event(
        self, pod: fwk.Pod, old: api.PersistentVolumeClaim | None, new: api.PersistentVolumeClaim
    ) -> fwk.QueueingHint:
        own = new.metadata.namespace == pod.namespace and new.metadata.name in claim_names(pod)
        return fwk.QueueingHint.Queue if own else fwk.QueueingHint.QueueSkip

    def _after_volume_event(
        self, pod: fwk.Pod, old: api.PersistentVolume | None, new: api.PersistentVolume
    ) -> fwk.QueueingHint:
        changed = old is None or topologies_of(old) != topologies_of(new)
        return fwk.QueueingHint.Queue if changed else fwk.QueueingHint.QueueSkip


def _is_in(node: fwk.NodeInfo, topology: Topology) -> bool:
    labels = node.labels
    return labels.get(topology.key, labels.get(TOPOLOGY_LABELS[topology.key])) in topology.values


def topologies_of(volume: api.PersistentVolume) -> list[Topology]:
    """The topology labels of a volume. A label with an empty zone in its list is ignored."""
    found = []
    for key in TOPOLOGY_LABELS:
        if key in volume.metadata.labels:
            values = frozenset(zone.strip() for zone in volume.metadata.labels[key].split(ZONE_DELIMITER))
            if "" not in values:
                found.append(Topology(key, values))
    return found
