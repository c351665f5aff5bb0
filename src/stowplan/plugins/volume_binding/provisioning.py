"""Dynamic provisioning: whether a volume for a claim can be provisioned for a node.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (checkVolumeProvisions, hasEnoughCapacity)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import api
from stowplan.api.quantity import value
from stowplan.api.selectors import (
    IN,
    Selector,
    SelectorError,
    SelectorRequirement,
    compile_label_selector,
    requirement,
    requirement_errors,
    requirements_match,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Provisioning:
    """The topologies of a claim's storage class, and the capacity of its driver if that is tracked."""

    def __init__(
        self,
        claim: api.PersistentVolumeClaim,
        storage_class: api.StorageClass,
        driver: api.CSIDriver | None,
        capacities: Iterable[api.CSIStorageCapacity],
    ) -> None:
        self._supported = storage_class.provisioner not in ("", NO_PROVISIONER)
        self._topologies = _compile(storage_class.allowed_topologies) if storage_class.allowed_topologies else None
        size = claim.spec.resources.requests.get("storage")
        self._segments: list[Selector] | None = None
        if size is not None and driver is not None and driver.spec.storage_capacity:
            roomy = (c for c in capacities if c.storage_class_name == storage_class.metadata.name)
            self._segments = _segments_with_room(roomy, value(size))
        self.keys = frozenset(r.key for term in self._topologies or () for r in term).union(
            *(segment.keys for segment in self._segments or ())
        )
        """Keys of the node labels that the methods depend on."""

    def allowed(self, labels: Mapping[str, str]) -> bool:
        """Whether the class provisions volumes for nodes with these labels."""
        if not self._supported:
            return False
        return self._topologies is None or any(requirements_match(term, labels) for term in self._topologies)

    def has_room(self, labels: Mapping[str, str]) -> bool:
        """Whether enough capacity is left for nodes with these labels; True where capacity is not tracked."""
        return self._segments is None or any(segment.matches(labels) for segment in self._segments)


def size_limit(capacity: api.CSIStorageCapacity) -> int | None:
    """The size in bytes of the largest possible volume, None if unknown. maximumVolumeSize comes before capacity."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if limit is None else value(limit)


def _compile(terms: Iterable[api.TopologySelectorTerm]) -> list[tuple[SelectorRequirement, ...]]:
    """Compile terms, one of which must match. Empty and malformed terms match no node."""
    compiled = []
    for term in terms:
        expressions = term.match_label_expressions
        if expressions and not any(requirement_errors(e.key, IN, e.values) for e in expressions):
            compiled.append(tuple(requirement(e.key, IN, e.values) for e in expressions))
    return compiled


def _segments_with_room(capacities: Iterable[api.CSIStorageCapacity], size: int) -> list[Selector]:
    """Selectors of the nodes with enough capacity. A missing or malformed topology selects no node."""
    segments = []
    for capacity in capacities:
        limit = size_limit(capacity)
        if limit is not None and limit >= size and capacity.node_topology is not None:
            try:
                segments.append(compile_label_selector(capacity.node_topology))
            except SelectorError:
                continue
    return segments
