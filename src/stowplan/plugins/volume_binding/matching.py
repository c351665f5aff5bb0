"""Finding an existing volume for a claim."""

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
    """What a claim asks of a volume, wherever it is."""

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
        """What must hold for volumes that are reserved for the claim as well."""
        spec = volume.spec
        return (
            (spec.claim_ref is None or is_for(volume, self._claim))
            and capacity(volume) >= self._size
            and (spec.volume_mode or FILESYSTEM) == self._mode
            and (spec.volume_attributes_class_name or "") == self._attributes_class
            and volume.metadata.deletion_timestamp is None
        )

    def may_take(self, volume: api.PersistentVolume) -> bool:
        """What must hold besides for volumes that are free."""
        return (
            volume.status.phase == "Available"
            and storage_class_of(volume) == self._storage_class
            and self._selector.matches(volume.metadata.labels)
            and self._access_modes.issubset(volume.spec.access_modes)
        )


class CandidateVolume(NamedTuple):
    """A volume that the claim could have on the nodes that reach it."""

    rank: int
    """Smaller volumes come first."""
    volume: api.PersistentVolume
    affinity: CompiledNodeSelector | None

    def reachable(self, labels: Mapping[str, str]) -> bool:
        return self.affinity is None or self.affinity.matches(labels, "")


class CandidateVolumes:
    """The volumes for one claim, sorted by size, found by the label values of a node.

    Local volumes come in thousands, each for one node: where an affinity demands certain values of a label, a volume is
    looked at only for nodes with one of them.
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
        """The node labels on which the answer depends."""

    def find(self, labels: Mapping[str, str], chosen: set[str]) -> api.PersistentVolume | None:
        """The volume to bind on a node with these labels; those that other claims of the pod get are out of question.

        A volume that is reserved for the claim is the only one, even if the node cannot reach it.
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
    """Whether the volume is bound to the claim, or reserved for it."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return ref.uid in ("", claim.metadata.uid)


def capacity(volume: api.PersistentVolume) -> int:
    """The size of a volume, exactly."""
    return parse(volume.spec.capacity.get("storage", 0))
