"""Finds an existing volume for a claim.

Upstream: k8s.io/component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stowplan import api
from stowplan.api.node_selectors import CompiledNodeSelector
from stowplan.api.quantity import parse
from stowplan.api.selectors import EVERYTHING, IN, compile_label_selector
from stowplan.cache.volumes import affinity_of, storage_class_of
from stowplan.plugins.volume_binding.claims import requested_size

FILESYSTEM = "Filesystem"


class Wish:
    """The requirements of a claim, node affinity apart."""

    def __init__(self, claim: api.PersistentVolumeClaim) -> None:
        """Raises SelectorError where the claim's selector is malformed."""
        self._claim = claim
        self._size = requested_size(claim)
        self._mode = claim.spec.volume_mode or FILESYSTEM
        self._attributes_class = claim.spec.volume_attributes_class_name or ""
        self._storage_class = storage_class_of(claim)
        self._access_modes = frozenset(claim.spec.access_modes)
        self._selector = EVERYTHING if claim.spec.selector is None else compile_label_selector(claim.spec.selector)

    def suits(self, volume: api.PersistentVolume) -> bool:
        """Requirements on every volume, pre-bound ones included."""
        spec = volume.spec
        return (
            (spec.claim_ref is None or is_for(volume, self._claim))
            and capacity(volume) >= self._size
            and (spec.volume_mode or FILESYSTEM) == self._mode
            and (spec.volume_attributes_class_name or "") == self._attributes_class
            and volume.metadata.deletion_timestamp is None
        )

    def may_take(self, volume: api.PersistentVolume) -> bool:
        """Further requirements on volumes without a claimRef."""
        return (
            volume.status.phase == "Available"
            and storage_class_of(volume) == self._storage_class
            and self._selector.matches(volume.metadata.labels)
            and self._access_modes.issubset(volume.spec.access_modes)
        )


class CandidateVolume(NamedTuple):
    """A volume that meets the requirements of the claim."""

    rank: int
    """Sorts by size."""
    volume: api.PersistentVolume
    affinity: CompiledNodeSelector | None

    def reachable(self, labels: Mapping[str, str]) -> bool:
        return self.affinity is None or self.affinity.matches(labels, "")


class CandidateVolumes:
    """The candidate volumes of one claim, sorted by size and indexed by the label values of nodes.

    A cluster has thousands of local volumes, each with an affinity to one node. A volume whose affinity requires
    values of a label is checked only for nodes that have one of these values.
    """

    def __init__(self, claim: api.PersistentVolumeClaim, volumes: Iterable[api.PersistentVolume]) -> None:
        """Raises SelectorError where the claim's selector is malformed."""
        wish = Wish(claim)
        suiting = [volume for volume in volumes if wish.suits(volume)]
        reserved = [volume for volume in suiting if volume.spec.claim_ref is not None]
        free = [volume for volume in suiting if volume.spec.claim_ref is None and wish.may_take(volume)]
        self._reserved = [CandidateVolume(0, volume, affinity_of(volume)) for volume in reserved]
        self._anywhere: list[CandidateVolume] = []
        self._by_label: dict[str, dict[str, list[CandidateVolume]]] = {}
        for rank, volume in enumerate(sorted(free, key=capacity)):
            self._place(CandidateVolume(rank, volume, affinity_of(volume)))
        terms = (
            term for v in (*reserved, *free) if (affinity := affinity_of(v)) is not None for term in affinity.terms
        )
        self.keys = frozenset(requirement.key for term in terms for requirement in term.labels)
        """Keys of the node labels that `find` depends on."""

    def find(self, labels: Mapping[str, str], chosen: set[str]) -> api.PersistentVolume | None:
        """The volume to bind on a node with these labels, without those chosen for other claims of the pod.

        A volume that is pre-bound to the claim is the only candidate, even if the node cannot reach it.
        """
        for candidate in self._reserved:
            if candidate.volume.metadata.name not in chosen:
                return candidate.volume if candidate.reachable(labels) else None
        best: CandidateVolume | None = None
        for candidates in self._near(labels):
            for candidate in candidates:
                if best is not None and candidate.rank > best.rank:
                    break
                if candidate.volume.metadata.name not in chosen and candidate.reachable(labels):
                    best = candidate
                    break
        return None if best is None else best.volume

    def _place(self, candidate: CandidateVolume) -> None:
        terms = () if candidate.affinity is None else candidate.affinity.terms
        demands = [r for r in terms[0].labels if r.operator == IN] if len(terms) == 1 else []
        if not demands:
            self._anywhere.append(candidate)
            return
        by_value = self._by_label.setdefault(demands[0].key, {})
        for value in demands[0].values:
            by_value.setdefault(value, []).append(candidate)

    def _near(self, labels: Mapping[str, str]) -> Iterator[list[CandidateVolume]]:
        yield self._anywhere
        for key, by_value in self._by_label.items():
            if key in labels:
                yield by_value.get(labels[key], [])


def is_for(volume: api.PersistentVolume, claim: api.PersistentVolumeClaim) -> bool:
    """Whether the claimRef of the volume names the claim (IsVolumeBoundToClaim)."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return ref.uid in ("", claim.metadata.uid)


def capacity(volume: api.PersistentVolume) -> int:
    """The exact size of a volume."""
    return parse(volume.spec.capacity.get("storage", 0))
