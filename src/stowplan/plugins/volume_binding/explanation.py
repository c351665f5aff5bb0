"""Rejections by VolumeBinding in words: where bound volumes are, and which volumes are missing on a node."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan import api
from stowplan import framework as fwk
from stowplan.api import amounts
from stowplan.api.quantity import value
from stowplan.api.selector_words import node_selector_in_words, requirement_in_words, topology_in_words
from stowplan.api.selectors import IN, SelectorError, compile_label_selector, requirement
from stowplan.cache.volumes import affinity_of, storage_class_of
from stowplan.plugins.base import location_refusal
from stowplan.plugins.volume_binding.binder import Binder, match_claims
from stowplan.plugins.volume_binding.claims import is_bound, selected_node
from stowplan.plugins.volume_binding.pod_volumes import DelayedClaim, PodVolumes
from stowplan.plugins.volume_binding.provisioning import NO_PROVISIONER, size_limit
from stowplan.plugins.volume_binding.reasons import BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING


class VolumeExplanation:
    """The refusals of one pod."""

    def __init__(self, binder: Binder, wanted: PodVolumes, pod: fwk.Pod) -> None:
        self._binder = binder
        self._wanted = wanted
        claims = [claim for claim in binder.claims_of(pod) if is_bound(claim)]
        self._bound = list(zip(claims, wanted.bound, strict=False))
        self._lost = claims[len(wanted.bound)] if wanted.missing else None

    def refusals(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        """A refusal for each claim that keeps the pod from the node."""
        yield from self._out_of_reach(node)
        if self._lost is not None:
            name, volume = self._lost.metadata.name, self._lost.spec.volume_name
            yield fwk.Refusal(
                id="claim.lost",
                reasons=(VOLUME_MISSING,),
                text=f"claim {name} is bound to volume {volume}, which does not exist",
                wanted=f"volume {volume}",
                lasting=True,
                facts={"claim": name, "volume": volume},
            )
        elsewhere = [each for each in self._wanted.provisioned if selected_node(each.claim) != node.name]
        for delayed in elsewhere:
            yield _selected_elsewhere(delayed.claim)
        if not elsewhere and not self._wanted.problem:
            _, unmatched = match_claims(self._wanted, node)
            for delayed in (*self._wanted.provisioned, *unmatched):
                yield from self._without_volume(delayed, node)

    def volumes(self) -> str:
        """The pod's claims, with their volumes or classes."""
        bound = [f"{claim.metadata.name} ({claim.spec.volume_name})" for claim, _ in self._bound]
        new = [f"{each.claim.metadata.name} (class {storage_class_of(each.claim)})" for each in self._wanted.delayed]
        return ", ".join([*bound, *new])

    def _out_of_reach(self, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        for claim, volume in self._bound:
            affinity = volume.affinity
            if volume.migration is not None and self._binder.migrated(volume.migration.plugin, node):
                affinity = volume.migrated_affinity
            if affinity is not None and not affinity.matches(node.labels, node.name):
                reachable = node_selector_in_words(affinity)
                name = claim.metadata.name
                yield location_refusal(claim.spec.volume_name, name, reachable, affinity.keys, node, (NODE_CONFLICT,))

    def _without_volume(self, delayed: DelayedClaim, node: fwk.NodeInfo) -> Iterator[fwk.Refusal]:
        reason = delayed.refusal(node.labels)
        if reason == NOT_ENOUGH_SPACE:
            yield self._no_capacity(delayed.claim, node)
        elif reason is not None:
            found = self._binder.storage_class(storage_class_of(delayed.claim))
            if found is not None and found.provisioner not in ("", NO_PROVISIONER):
                yield _other_topology(delayed.claim, found, node)
            else:
                yield self._no_volume(delayed.claim, node)

    def _no_volume(self, claim: api.PersistentVolumeClaim, node: fwk.NodeInfo) -> fwk.Refusal:
        name, size = storage_class_of(claim), _size(claim)
        here = [volume for volume in self._binder.free_volumes(name) if _reaches(volume, node)]
        largest = max((value(volume.spec.capacity.get("storage", 0)) for volume in here), default=0)
        wanted, found = amounts.compared("storage", size, largest)
        if not here:
            there = "there is none"
        elif largest < size:
            there = f"the largest is {found}"
        else:
            there = "the large ones differ in access modes, labels or mode, or another claim of the pod takes them"
        needs = f"free volume of class {name} with {wanted}"
        return fwk.Refusal(
            id="volume.none",
            reasons=(BIND_CONFLICT,),
            text=f"no {needs} here for claim {claim.metadata.name}; {there}",
            wanted=f"a {needs}",
            there=there,
            facts={"claim": claim.metadata.name, "class": name, "wanted": size, "largest": largest},
        )

    def _no_capacity(self, claim: api.PersistentVolumeClaim, node: fwk.NodeInfo) -> fwk.Refusal:
        name, size = storage_class_of(claim), _size(claim)
        limits = [
            limit
            for each in self._binder.capacities(name)
            if _covers(each, node) and (limit := size_limit(each)) is not None
        ]
        wanted, left = amounts.compared("storage", size, max(limits, default=0))
        there = f"class {name} has {left} left here" if limits else f"class {name} reports no capacity here"
        return fwk.Refusal(
            id="volume.no-capacity",
            reasons=(NOT_ENOUGH_SPACE,),
            text=f"{there}, claim {claim.metadata.name} asks for {wanted}",
            wanted=f"{wanted} of class {name}",
            there=f"{left} left" if limits else "no capacity reported",
            facts={"claim": claim.metadata.name, "class": name, "wanted": size, "left": max(limits, default=0)},
        )


def _size(claim: api.PersistentVolumeClaim) -> int:
    """The requested size in bytes."""
    return value(claim.spec.resources.requests.get("storage", 0))


def _selected_elsewhere(claim: api.PersistentVolumeClaim) -> fwk.Refusal:
    name, node = claim.metadata.name, selected_node(claim)
    return fwk.Refusal(
        id="volume.selected-node",
        reasons=(BIND_CONFLICT,),
        text=f"a volume for claim {name} is being made for {node}",
        wanted=f"node {node}, for which claim {name} is being provisioned",
        facts={"claim": name, "node": node},
    )


def _other_topology(
    claim: api.PersistentVolumeClaim, storage_class: api.StorageClass, node: fwk.NodeInfo
) -> fwk.Refusal:
    terms = [
        ",".join(requirement_in_words(requirement(topology_in_words(e.key), IN, e.values)) for e in term)
        for term in (each.match_label_expressions for each in storage_class.allowed_topologies)
    ]
    allowed, name = " or ".join(terms), storage_class.metadata.name
    return fwk.Refusal(
        id="volume.topology",
        reasons=(BIND_CONFLICT,),
        text=f"class {name} of claim {claim.metadata.name} makes volumes for {allowed} only",
        wanted=allowed,
        facts={"claim": claim.metadata.name, "class": name, "allowed": allowed},
    )


def _reaches(volume: api.PersistentVolume, node: fwk.NodeInfo) -> bool:
    affinity = affinity_of(volume)
    return affinity is None or affinity.matches(node.labels, "")


def _covers(capacity_: api.CSIStorageCapacity, node: fwk.NodeInfo) -> bool:
    try:
        topology = capacity_.node_topology
        return topology is not None and compile_label_selector(topology).matches(node.labels)
    except SelectorError:
        return False
